//! What was granted, until it is started or void.

use std::time::Duration;

use super::wants::WantState;
use super::{Effect, Limiter, PermitId, Start, Validity, VoidWhy};
use crate::machine::charged_at;
use crate::{LogTime, Moment};

impl Limiter {
    /// Asks, at the moment of sending, whether the message may go now. After [`Start::Go`] the permit is used up; a call
    /// that is not made then is lost to the limit, nothing worse.
    pub fn start(&mut self, permit: PermitId, now: Moment, effects: &mut Vec<Effect>) -> Start {
        let Some(want) = self.wants.get(&permit) else {
            return Start::Unknown;
        };
        let WantState::Granted(validity) = want.state else {
            return Start::Unknown;
        };
        if self.is_held(&want.scope, &want.chat, validity, now) {
            self.void(permit, VoidWhy::Penalty, now, effects);
            return Start::Void(VoidWhy::Penalty);
        }
        if now > validity.until {
            self.void(permit, VoidWhy::Late, now, effects);
            return Start::Void(VoidWhy::Late);
        }
        if now < validity.from {
            return Start::Early;
        }
        self.wants.remove(&permit);
        self.granted.remove(&permit);
        Start::Go {
            until: validity.until,
        }
    }

    pub(super) fn grant(
        &mut self,
        permit: PermitId,
        at: LogTime,
        leeway: Duration,
        now: Moment,
        effects: &mut Vec<Effect>,
    ) {
        let charged = charged_at(at, leeway, self.machine.time());
        let validity = self.clock.validity(at, charged);
        let Some(want) = self.wants.get_mut(&permit) else {
            return;
        };
        self.counts.granted += 1;
        if validity.until < validity.from.max(now) {
            self.counts.void_late += 1;
            self.requeue(permit, None, now);
            return;
        }
        want.state = WantState::Granted(validity);
        want.told = None;
        self.granted.insert(permit);
        effects.push(Effect::Granted { permit, validity });
    }

    /// A grant that was announced becomes void; the message is asked for anew.
    pub(super) fn void(
        &mut self,
        permit: PermitId,
        why: VoidWhy,
        now: Moment,
        effects: &mut Vec<Effect>,
    ) {
        match why {
            VoidWhy::Penalty => self.counts.void_penalty += 1,
            VoidWhy::Late => self.counts.void_late += 1,
            VoidWhy::Log => self.counts.void_log += 1,
        }
        self.requeue(permit, None, now);
        effects.push(Effect::Voided { permit, why });
    }

    /// Grants whose chat, account or address is held now.
    pub(super) fn void_held(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        let held = |permit: &&PermitId| {
            self.granted_at(**permit)
                .is_some_and(|(scope, chat, validity)| self.is_held(scope, chat, validity, now))
        };
        let held: Vec<PermitId> = self.granted.iter().filter(held).copied().collect();
        for permit in held {
            self.void(permit, VoidWhy::Penalty, now, effects);
        }
    }

    pub(super) fn void_all(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        let all: Vec<PermitId> = self.granted.iter().copied().collect();
        for permit in all {
            self.void(permit, VoidWhy::Log, now, effects);
        }
    }

    /// Whether a hold reaches beyond the time that was granted.
    fn is_held(&self, scope: &str, chat: &str, validity: Validity, now: Moment) -> bool {
        let earliest = validity.from.max(now);
        self.holds.until(scope, chat, earliest).is_some()
            || self.machine.held_until(scope, chat) > validity.at
    }

    fn granted_at(&self, permit: PermitId) -> Option<(&str, &str, Validity)> {
        let want = self.wants.get(&permit)?;
        match want.state {
            WantState::Granted(validity) => Some((&want.scope, &want.chat, validity)),
            WantState::Ready | WantState::Blocked(_) | WantState::Asked => None,
        }
    }
}
