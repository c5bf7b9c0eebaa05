//! What must get into the log, and is written again until it was read.

use super::{AppendId, Effect, Limiter, Operation};
use crate::record::{Body, Limits, Reset};
use crate::{Moment, Penalise};

/// The most records that wait to be written again.
const MAX_PENDING: usize = 10_000;

/// A record that was not read back yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) body: PendingBody,
    append: Option<AppendId>,
    due: Moment,
}

#[derive(Debug)]
pub(super) enum PendingBody {
    /// A penalty, and when it ends.
    Penalise(Penalise, Moment),
    Reset(Reset),
    Limits(Limits),
}

impl Pending {
    pub(super) fn due_at(body: PendingBody, due: Moment) -> Self {
        Self {
            body,
            append: None,
            due,
        }
    }

    pub(super) fn due(&self) -> Moment {
        self.due
    }
}

impl Limiter {
    pub(super) fn operate(&mut self, operation: Operation, now: Moment, effects: &mut Vec<Effect>) {
        match operation {
            Operation::Penalise {
                target,
                wait,
                operator,
                reason,
            } => self.penalise(target, wait, Some(operator), reason, now, effects),
            Operation::Reset {
                target,
                operator,
                reason,
            } => {
                effects.push(Effect::ForgetPenalty(target.clone()));
                let reset = Reset {
                    id: self.new_id(),
                    target,
                    operator,
                    reason,
                };
                self.pend(PendingBody::Reset(reset), now, effects);
            }
            Operation::SetLimits {
                scope,
                limits,
                operator,
                reason,
            } => {
                let limits = Limits {
                    id: self.new_id(),
                    machine_version: self.machine.version(),
                    scope: Some((scope, limits)),
                    operator,
                    reason,
                };
                self.pend(PendingBody::Limits(limits), now, effects);
            }
        }
    }

    /// Writes a record, now if possible, until it is read.
    pub(super) fn pend(&mut self, body: PendingBody, now: Moment, effects: &mut Vec<Effect>) {
        self.add_pending(Pending::due_at(body, now));
        if self.mode == super::Mode::Live {
            self.restate(now, effects);
        }
    }

    pub(super) fn add_pending(&mut self, pending: Pending) {
        let same = |other: &Pending| match (&other.body, &pending.body) {
            (PendingBody::Penalise(other, until), PendingBody::Penalise(own, end)) => {
                other.target == own.target && until >= end
            }
            (
                PendingBody::Penalise(..) | PendingBody::Reset(_) | PendingBody::Limits(_),
                PendingBody::Penalise(..) | PendingBody::Reset(_) | PendingBody::Limits(_),
            ) => false,
        };
        if self.pending.len() < MAX_PENDING && !self.pending.iter().any(same) {
            self.pending.push(pending);
        }
    }

    /// Writes what is due: for the first time, or again.
    pub(super) fn restate(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        self.pending.retain(|pending| match &pending.body {
            PendingBody::Penalise(_, until) => *until > now,
            PendingBody::Reset(_) | PendingBody::Limits(_) => true,
        });
        let mut pending = std::mem::take(&mut self.pending);
        for one in pending.iter_mut().filter(|one| one.due <= now) {
            let body = match &one.body {
                PendingBody::Penalise(penalise, until) => {
                    let wait = now.until(*until);
                    Body::Penalise(Penalise {
                        wait,
                        ..penalise.clone()
                    })
                }
                PendingBody::Reset(reset) => Body::Reset(reset.clone()),
                PendingBody::Limits(limits) => Body::Limits(limits.clone()),
            };
            one.append = Some(self.append(body, effects));
            one.due = now.after(self.options.repeat_after);
        }
        self.pending = pending;
    }

    /// What was read needs no repetition.
    pub(super) fn done(&mut self, is_done: impl Fn(&PendingBody) -> bool) {
        self.pending
            .retain(|pending| pending.append.is_none() || !is_done(&pending.body));
    }

    pub(super) fn not_appended(&mut self, id: AppendId, now: Moment) {
        let asked = self
            .outstanding
            .iter()
            .find(|(_, asked)| asked.append == id);
        if let Some((&seq, _)) = asked {
            self.give_up(seq, now);
        }
        for pending in &mut self.pending {
            if pending.append == Some(id) {
                pending.due = now.after(self.options.repeat_after / 4);
            }
        }
    }
}
