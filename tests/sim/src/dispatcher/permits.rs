//! The shared limit as a worker meets it: permits come soon or late, begin later, and are void when a penalty comes or
//! their moment has passed. What the limit itself grants is simulated beside its machine (`tidings-ratelimit`).

use std::time::Duration;

use tidings_delivery::{Event, Moment, PermitId, SlotId};

use super::{WorkerNews, WorkerRef};
use crate::invariants;
use crate::times::{MILLI, SECOND};
use crate::world::World;

/// How long after its beginning a grant may be started (design §9, `slack`).
const SLACK: u64 = 20 * MILLI;

/// How far ahead a grant may begin (design §9, the horizon of `high`).
const HORIZON: u64 = 500 * MILLI;

/// The account whose calls need permits; the other one's do not.
const LIMITED: &str = "sim:a0";

/// What the limit says to a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    Wanted,
    Granted { from: u64 },
}

/// What a worker's limiter comes to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PermitNews {
    /// The log was read.
    Decided,
    /// The grant that began at this time is void unless it was used.
    Void { from: u64 },
}

impl World {
    pub(super) fn limit_accounts(&mut self, worker: usize) {
        let machine = &mut self.workers[worker].machine;
        machine.permit_account(&LIMITED.into(), true);
    }

    pub(super) fn want(&mut self, to: WorkerRef, permit: PermitId) {
        let before = self.workers[to.worker].wishes.insert(permit, Wish::Wanted);
        self.check(invariants::a_wish_has_its_own_number(
            to,
            permit,
            before.is_none(),
        ));
        self.decide_soon(to, permit, MILLI, 5 * MILLI);
    }

    pub(super) fn unwant(&mut self, to: WorkerRef, permit: PermitId) {
        self.workers[to.worker].wishes.remove(&permit);
    }

    fn decide_soon(&mut self, to: WorkerRef, permit: PermitId, least: u64, most: u64) {
        let news = WorkerNews::Permit(permit, PermitNews::Decided);
        self.tell_worker(least, most, to, news);
    }

    pub(super) fn permit_news(&mut self, to: WorkerRef, permit: PermitId, news: PermitNews) {
        let Some(wish) = self.workers[to.worker].wishes.get(&permit).copied() else {
            return;
        };
        match (news, wish) {
            (PermitNews::Decided, Wish::Wanted) => self.decide_permit(to, permit),
            (PermitNews::Void { from }, Wish::Granted { from: granted }) if from == granted => {
                self.counts.add("permits void before their call");
                self.workers[to.worker].wishes.insert(permit, Wish::Wanted);
                self.decide_soon(to, permit, MILLI, 50 * MILLI);
                self.tell(to, Event::Voided(permit));
            }
            (
                PermitNews::Decided | PermitNews::Void { .. },
                Wish::Wanted | Wish::Granted { .. },
            ) => {}
        }
    }

    fn decide_permit(&mut self, to: WorkerRef, permit: PermitId) {
        if self.faults() && self.random.chance(100) {
            self.counts.add("chats held by the limit");
            let wait = self.random.between(MILLI, 3 * SECOND);
            self.decide_soon(to, permit, wait, wait + 50 * MILLI);
            let wait = Duration::from_micros(wait);
            self.tell(to, Event::ChatWaits { permit, wait });
            return;
        }
        let from = self.now + self.random.between(0, HORIZON);
        let ahead = self.workers[to.worker].moment_ahead;
        self.workers[to.worker]
            .wishes
            .insert(permit, Wish::Granted { from });
        let penalty = self.faults() && self.random.chance(50);
        let lasts = from + SLACK - self.now;
        let void_after = if penalty {
            self.random.between(0, lasts)
        } else {
            lasts
        };
        let void = WorkerNews::Permit(permit, PermitNews::Void { from });
        self.tell_worker(void_after, void_after + MILLI, to, void);
        let from = Moment(from + ahead);
        self.tell(to, Event::Permitted { permit, from });
    }

    /// The last look, at the moment of sending: whether the call goes out.
    pub(super) fn last_look(
        &mut self,
        to: WorkerRef,
        slot: SlotId,
        permit: Option<PermitId>,
    ) -> bool {
        let limited = self.account_of(to, slot) == LIMITED;
        let wish = permit.and_then(|permit| self.workers[to.worker].wishes.get(&permit).copied());
        self.check(invariants::a_limited_call_has_its_permit(
            to, slot, limited, wish, self.now,
        ));
        let (Some(permit), Some(Wish::Granted { from })) = (permit, wish) else {
            return true;
        };
        let penalty = self.faults() && self.random.chance(20);
        if penalty || self.now > from + SLACK {
            self.counts.add("permits void at the last look");
            self.tell_worker(0, MILLI, to, WorkerNews::CallVoided(permit));
            return false;
        }
        self.workers[to.worker].wishes.remove(&permit);
        true
    }

    fn account_of(&self, to: WorkerRef, slot: SlotId) -> String {
        self.message_of(to, slot)
            .map_or_else(String::new, |message| {
                format!("sim:a{}", self.ledger.messages[message].account())
            })
    }
}
