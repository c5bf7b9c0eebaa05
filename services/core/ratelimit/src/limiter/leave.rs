//! When the log is not what it was: everything that belongs to it goes, and what it held stays held.

use uuid::Uuid;

use super::wants::WantState;
use super::{ClosedWhy, Effect, Limiter, Mode, StoppedWhy};
use crate::Moment;
use crate::machine::{ApplyError, Machine};
use crate::record::DecodeError;

/// The most ids of other logs that are remembered.
const MAX_STRAYS: usize = 64;

impl Limiter {
    /// Everything that belongs to the log as it was: grants, asks, its time. What it held stays held.
    pub(super) fn leave_log(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        self.remember_holds(now);
        self.void_all(now, effects);
        let asked: Vec<u64> = self.outstanding.keys().copied().collect();
        for seq in asked {
            self.give_up(seq, now);
        }
        for queue in self.queues.values_mut() {
            let blocked = std::mem::take(&mut queue.blocked);
            for ((_, order), permit) in blocked {
                queue.ready.insert(order, permit);
                if let Some(want) = self.wants.get_mut(&permit) {
                    want.state = WantState::Ready;
                }
            }
        }
        self.clock.reset();
        self.duties.forget_snapshots();
        if !self.machine.log_id().is_nil() {
            self.note_stray(self.machine.log_id());
        }
    }

    pub(super) fn note_stray(&mut self, id: Uuid) {
        if self.strays.len() >= MAX_STRAYS {
            self.strays.pop_first();
        }
        self.strays.insert(id);
    }

    /// Records of a log that we do not know: ours may have been replaced. Looked at once for each id.
    pub(super) fn other_log(&mut self, id: Uuid, now: Moment, effects: &mut Vec<Effect>) {
        if id.is_nil() || self.strays.contains(&id) || self.mode != Mode::Live {
            return;
        }
        self.note_stray(id);
        self.close(ClosedWhy::OtherLog(id), now, effects);
    }

    pub(super) fn cannot_apply(
        &mut self,
        error: ApplyError,
        now: Moment,
        effects: &mut Vec<Effect>,
    ) {
        match error {
            ApplyError::Gap { expected, found } => {
                self.close(ClosedWhy::Gap { expected, found }, now, effects);
            }
            ApplyError::MachineVersion { wanted, supported } => {
                self.stop(
                    StoppedWhy::MachineVersion { wanted, supported },
                    now,
                    effects,
                );
            }
            ApplyError::Record(DecodeError::LaterVersion(version)) => {
                self.stop(StoppedWhy::SchemaVersion(version), now, effects);
            }
            ApplyError::Record(DecodeError::Malformed(_)) => self.counts.malformed += 1,
        }
    }

    /// Fails closed: nothing is granted until the log was opened and read again.
    pub(super) fn close(&mut self, why: ClosedWhy, now: Moment, effects: &mut Vec<Effect>) {
        if matches!(self.mode, Mode::Stopped(_)) {
            return;
        }
        self.counts.closed += 1;
        self.search
            .distrust(matches!(why, ClosedWhy::HashMismatch { .. }));
        self.leave_log(now, effects);
        self.machine = Machine::supporting(self.options.machine_version);
        self.mode = Mode::Closed(why);
        effects.push(Effect::Mode(self.mode.clone()));
        effects.push(Effect::Reopen);
    }

    pub(super) fn stop(&mut self, why: StoppedWhy, now: Moment, effects: &mut Vec<Effect>) {
        self.leave_log(now, effects);
        self.mode = Mode::Stopped(why);
        effects.push(Effect::Mode(self.mode.clone()));
    }
}
