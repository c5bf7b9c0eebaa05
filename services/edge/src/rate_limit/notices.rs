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
    /// The limiter serves, or does not. After [`Mode::Stopped`] the role must end.
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
    notices: HashMap<PermitId, Notice>,
}

impl Pending {
    /// What is newer replaces what is older, but a wait never hides that a grant was given or taken.
    fn put(&mut self, permit: PermitId, notice: Notice) {
        match self.notices.entry(permit) {
            Entry::Vacant(place) => {
                place.insert(notice);
                self.order.push_back(permit);
            }
            Entry::Occupied(mut place) => {
                let only_waits = matches!(notice, Notice::Waiting { .. });
                if !only_waits || matches!(place.get(), Notice::Waiting { .. }) {
                    place.insert(notice);
                }
            }
        }
    }

    fn take(&mut self) -> Option<Notice> {
        if let Some(mode) = self.mode.take() {
            return Some(Notice::Mode(mode));
        }
        while let Some(permit) = self.order.pop_front() {
            if let Some(notice) = self.notices.remove(&permit) {
                return Some(notice);
            }
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
