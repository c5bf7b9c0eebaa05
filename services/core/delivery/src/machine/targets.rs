//! Dead and migrated targets (design §8, L14): where an admitted head goes, and what its answer says about that.

use std::sync::Arc;

use tidings_platforms::{DeadScope, Verdict};

use super::Machine;
use super::slot::{Stage, Work};
use crate::targets::Route;
use crate::{Effect, Settlement, SlotId, TargetKey, TargetState};

impl Machine {
    /// The registry changed.
    pub(super) fn target_changed(&mut self, target: TargetKey, state: &TargetState) {
        let options = self.options.targets;
        self.targets.learn(target, state, self.moment, &options);
    }

    /// Finds out where an admitted head goes; false when that is nowhere, so that its claim is all that it needs.
    pub(super) fn has_a_way(&mut self, id: SlotId) -> bool {
        let (now, probe_takes) = (self.moment, self.options.timing.call_deadline * 2);
        let Some(work) = self.slots.work_mut(id) else {
            return true;
        };
        let account = Arc::clone(&self.accounts.get(work.account).name);
        let (to, moved) = (target_of(work), work.target.as_ref());
        match self.targets.route(&account, &to, moved, now, probe_takes) {
            Route::Own => work.dead = None,
            Route::Other(id) => {
                work.dead = None;
                work.target = Some(id);
            }
            Route::Dead(reason) => work.dead = Some(reason),
        }
        work.dead.is_none()
    }

    /// Whether a claimed message ends because its target was found dead.
    pub(super) fn ends_at_a_dead_target(&mut self, id: SlotId, effects: &mut Vec<Effect>) -> bool {
        let dead = self.slots.work_mut(id).and_then(|work| work.dead.take());
        let Some(words) = dead else {
            return false;
        };
        self.step_back(id, effects);
        let reason = format!("not called, the target is known to be dead: {words}");
        self.settle(id, Settlement::Undeliverable, None, reason.into(), effects);
        true
    }

    /// What a call's answer says about its target: remembered here, and for all workers.
    pub(super) fn tell_targets(
        &mut self,
        id: SlotId,
        verdict: &Verdict,
        reason: &Arc<str>,
        effects: &mut Vec<Effect>,
    ) {
        if !self.stage_is(id, &Stage::Calling) {
            return;
        }
        let Some(called) = self.called_target(id) else {
            return;
        };
        match verdict {
            Verdict::DeadTarget { scope, reprobe } => {
                if let Some(target) = covered(called, *scope) {
                    let options = self.options.targets;
                    let probed = *reprobe || options.probe_all;
                    let (probe, reason) = (probed.then_some(options.first_probe), reason.clone());
                    self.remember(target, TargetState::Dead { probe, reason }, effects);
                }
            }
            Verdict::Migrated { new_chat_id } => {
                let target = TargetKey {
                    thread: None,
                    ..called
                };
                // Nobody moves to where he is.
                if !target.chat.ends_with(&format!(":{new_chat_id}")) {
                    let new_chat_id = Arc::from(new_chat_id.as_str());
                    self.remember(target, TargetState::Migrated { new_chat_id }, effects);
                }
            }
            Verdict::Delivered { .. } => self.is_alive(called, effects),
            Verdict::Throttled { .. }
            | Verdict::Transient
            | Verdict::Rejected
            | Verdict::AuthBroken
            | Verdict::Unknown
            | Verdict::Unrecognised => {}
        }
    }

    fn is_alive(&mut self, called: TargetKey, effects: &mut Vec<Effect>) {
        let whole = TargetKey {
            chat: Arc::clone(&called.chat),
            thread: None,
        };
        for target in [Some(whole), called.thread.is_some().then_some(called)] {
            if let Some(target) = target.filter(|target| self.targets.is_dead(target)) {
                self.remember(target, TargetState::Alive, effects);
            }
        }
    }

    fn remember(&mut self, target: TargetKey, state: TargetState, effects: &mut Vec<Effect>) {
        self.target_changed(target.clone(), &state);
        effects.push(Effect::Remember { target, state });
    }

    /// What a message was sent to, after migrations.
    fn called_target(&mut self, id: SlotId) -> Option<TargetKey> {
        let work = self.slots.work(id)?;
        let own = target_of(work);
        let Some(moved) = &work.target else {
            return Some(own);
        };
        let account = &self.accounts.get(work.account).name;
        Some(TargetKey {
            chat: Arc::from(format!("{account}:{moved}")),
            ..own
        })
    }
}

fn target_of(work: &Work) -> TargetKey {
    TargetKey {
        chat: Arc::clone(&work.chat),
        thread: work.thread.clone(),
    }
}

/// `None` for an answer about a thread that the message did not name: nothing is known to remember.
fn covered(called: TargetKey, scope: DeadScope) -> Option<TargetKey> {
    match scope {
        DeadScope::Chat => Some(TargetKey {
            thread: None,
            ..called
        }),
        DeadScope::Thread => called.thread.is_some().then_some(called),
    }
}
