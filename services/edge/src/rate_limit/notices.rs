use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidings_ratelimit::{Mode, PermitId, RefusedWhy, VoidWhy};
use tokio::sync::Notify;

/// What the limiter has to say to whoever asks it for permits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A message may be sent: call [`Limits::start`](super::Limits::start) at `from`, and send only if it says so.
    Granted {
        /// The message.
        permit: PermitId,
        /// The first moment at which the call may start.
        from: Instant,
        /// The last one.
        until: Instant,
    },
    /// An earlier grant is void. Another was asked for already.
    Voided {
        /// The message.
        permit: PermitId,
        /// Why.
        why: VoidWhy,
    },
    /// More messages wait than the limiter may hold: it did not take this one. Want it again later.
    Declined(PermitId),
    /// A message has to wait: for the debug log (requirement L13).
    Waiting {
        /// The message.
        permit: PermitId,
        /// About how long.
        wait: Duration,
        /// What for.
        why: RefusedWhy,
    },
    /// The limiter serves, or does not: of changes that were not received yet, the latest. After [`Mode::Stopped`] the
    /// role must end.
    Mode(Mode),
}

/// The receiving end of a limiter's notices; there is one.
///
/// Of each permit only what is still true is kept until it is received, so that the notices of a receiver that is slow
/// take no more than the permits that it wants.
pub struct Notices(Arc<Tray>);

impl Notices {
    /// The next notice; waits for it. Safe to drop half-way. Does not end by itself.
    pub async fn recv(&mut self) -> Notice {
        loop {
            if let Some(notice) = self.try_recv() {
                return notice;
            }
            // One that came in between has left its mark.
            self.0.ready.notified().await;
        }
    }

    /// The next notice, if one is there.
    pub fn try_recv(&mut self) -> Option<Notice> {
        self.0.lock().take()
    }
}

/// Where notices wait.
#[derive(Default)]
pub(super) struct Tray {
    pending: Mutex<Pending>,
    ready: Notify,
}

impl Tray {
    pub(super) fn receiver(self: &Arc<Self>) -> Notices {
        Notices(Arc::clone(self))
    }

    pub(super) fn mode(&self, mode: Mode) {
        self.lock().mode = Some(mode);
        self.ready.notify_one();
    }

    pub(super) fn put(&self, permit: PermitId, notice: Notice) {
        self.lock().put(permit, notice);
        self.ready.notify_one();
    }

    /// Nobody wants to hear of this permit any more.
    pub(super) fn withdraw(&self, permit: PermitId) {
        self.lock().withdraw(permit);
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Withdrawn permits whose places in the order are tolerated before it is swept.
const TOLERATED_GAPS: usize = 1_024;

#[derive(Default)]
struct Pending {
    mode: Option<Mode>,
    order: VecDeque<PermitId>,
    notices: HashMap<PermitId, Unread>,
}

/// At most two for each permit.
struct Unread {
    notice: Notice,
    /// That it waits since, when the notice is about a grant that was given or taken: the limiter says it only once.
    then: Option<Notice>,
}

impl Pending {
    /// What is newer replaces what is older, but a wait never hides that a grant was given or taken: it is told after.
    fn put(&mut self, permit: PermitId, notice: Notice) {
        match self.notices.entry(permit) {
            Entry::Vacant(place) => {
                place.insert(Unread { notice, then: None });
                self.order.push_back(permit);
            }
            Entry::Occupied(mut place) => {
                let unread = place.get_mut();
                let only_waits = matches!(notice, Notice::Waiting { .. });
                if only_waits && !matches!(unread.notice, Notice::Waiting { .. }) {
                    unread.then = Some(notice);
                } else {
                    *unread = Unread { notice, then: None };
                }
            }
        }
    }

    fn take(&mut self) -> Option<Notice> {
        if let Some(mode) = self.mode.take() {
            return Some(Notice::Mode(mode));
        }
        while let Some(permit) = self.order.pop_front() {
            let Some(Unread { notice, then }) = self.notices.remove(&permit) else {
                continue;
            };
            if let Some(notice) = then {
                self.notices.insert(permit, Unread { notice, then: None });
                self.order.push_front(permit);
            }
            return Some(notice);
        }
        None
    }

    fn withdraw(&mut self, permit: PermitId) {
        self.notices.remove(&permit);
        if self.order.len() > self.notices.len() + TOLERATED_GAPS {
            self.order
                .retain(|permit| self.notices.contains_key(permit));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(permit: u64, from: Instant) -> Notice {
        Notice::Granted {
            permit: PermitId(permit),
            from,
            until: from + Duration::from_millis(20),
        }
    }

    fn voided(permit: u64) -> Notice {
        Notice::Voided {
            permit: PermitId(permit),
            why: VoidWhy::Late,
        }
    }

    #[test]
    fn of_each_permit_the_newest_is_told_in_the_order_of_the_first() {
        let tray = Arc::new(Tray::default());
        let mut notices = tray.receiver();
        let from = Instant::now();
        tray.put(PermitId(1), granted(1, from));
        tray.put(PermitId(2), granted(2, from));
        tray.put(PermitId(1), voided(1));
        let later = from + Duration::from_secs(1);
        tray.put(PermitId(2), voided(2));
        tray.put(PermitId(2), granted(2, later));
        tray.mode(Mode::Live);
        assert_eq!(notices.try_recv(), Some(Notice::Mode(Mode::Live)));
        assert_eq!(notices.try_recv(), Some(voided(1)));
        assert_eq!(notices.try_recv(), Some(granted(2, later)));
        assert_eq!(notices.try_recv(), None);
    }

    #[test]
    fn a_wait_is_told_after_the_grant_that_was_taken_and_a_new_grant_ends_it() {
        let tray = Arc::new(Tray::default());
        let mut notices = tray.receiver();
        let waiting = |permit, seconds| Notice::Waiting {
            permit: PermitId(permit),
            wait: Duration::from_secs(seconds),
            why: RefusedWhy::ChatHeld,
        };
        let from = Instant::now();
        for permit in [1, 2] {
            tray.put(PermitId(permit), granted(permit, from));
            tray.put(PermitId(permit), voided(permit));
            tray.put(PermitId(permit), waiting(permit, 1));
            tray.put(PermitId(permit), waiting(permit, 3_600));
        }
        tray.put(PermitId(2), granted(2, from));
        assert_eq!(notices.try_recv(), Some(voided(1)));
        assert_eq!(notices.try_recv(), Some(waiting(1, 3_600)));
        assert_eq!(notices.try_recv(), Some(granted(2, from)));
        assert_eq!(notices.try_recv(), None);
    }

    #[test]
    fn what_is_withdrawn_is_not_told_and_takes_no_room() {
        let tray = Arc::new(Tray::default());
        let mut notices = tray.receiver();
        for permit in 0..100_000 {
            tray.put(PermitId(permit), granted(permit, Instant::now()));
            tray.withdraw(PermitId(permit));
        }
        assert!(tray.lock().order.len() <= TOLERATED_GAPS + 1);
        assert_eq!(notices.try_recv(), None);
    }

    #[tokio::test]
    async fn a_receiver_that_waits_is_woken() {
        let tray = Arc::new(Tray::default());
        let mut notices = tray.receiver();
        let told = tokio::spawn(async move { notices.recv().await });
        tokio::task::yield_now().await;
        tray.put(PermitId(7), voided(7));
        assert_eq!(told.await.unwrap(), voided(7));
    }
}
