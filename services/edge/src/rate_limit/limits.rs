use std::sync::Arc;
use std::time::{Duration, Instant};

use tidings_ratelimit::{
    Class, Counts, Event, MAX_REASON_BYTES, Mode, Operation, PermitId, ScopeLimits, Target, View,
    VoidWhy,
};
use tokio::sync::oneshot;

use super::shared::Shared;

/// A message that is ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// The caller's number, unique within a worker's life.
    pub permit: PermitId,
    /// Its limit scope: the account's name, `platform:alias`.
    pub scope: String,
    /// Its chat id.
    pub chat: String,
    /// Its class.
    pub class: Class,
}

/// What [`Limits::start`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The call may start now; the permit is used up.
    Go {
        /// Its first byte must be out by then: what starts later would arrive in another's place.
        until: Instant,
    },
    /// Not yet: the grant begins later.
    Early,
    /// The grant is void; another is being asked for.
    Void(VoidWhy),
    /// There is no grant for this message.
    Unknown,
}

/// The limiter of this process. Cheap to clone; every call takes a lock for microseconds, so that it may be made
/// anywhere, also between two awaits.
#[derive(Clone)]
pub struct Limits(Arc<Shared>);

impl Limits {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    /// Asks for a permit. The answer is a [`Notice`](super::Notice). The record leaves as soon as the timer's thread has
    /// woken, with what was wanted until then.
    pub fn want(&self, permit: PermitId, scope: &str, chat: &str, class: Class) {
        self.0.tell(Event::Want {
            permit,
            scope: scope.to_owned(),
            chat: chat.to_owned(),
            class,
        });
    }

    /// Asks for many permits at once: what may be asked for now leaves in one record a class, within the call.
    pub fn want_all(&self, wants: impl IntoIterator<Item = Want>) {
        let mut guard = self.0.lock();
        let now = std::time::Instant::now();
        for Want {
            permit,
            scope,
            chat,
            class,
        } in wants
        {
            let event = Event::Want {
                permit,
                scope,
                chat,
                class,
            };
            guard.driver.tell(event, now);
        }
        guard.driver.tell_timer_if_due();
    }

    /// The message needs no permit any more. No notice of it follows.
    pub fn cancel(&self, permit: PermitId) {
        self.0.lock().driver.cancel(permit);
    }

    /// Whether the message may be sent, asked at the moment of sending. [`Start::Go`] uses the permit up.
    #[must_use]
    pub fn start(&self, permit: PermitId) -> Start {
        self.0.lock().driver.start(permit)
    }

    /// The platform answered 429: to be told at once, before anything else. `wait` is its hint, floor and cap applied.
    pub fn throttled(&self, target: Target, wait: Duration, reason: &str) {
        let mut end = reason.len().min(MAX_REASON_BYTES);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        let reason = reason.get(..end).unwrap_or_default().to_owned();
        self.0.tell(Event::Throttled {
            target,
            wait,
            reason,
        });
    }

    /// Names a scope and the limits that are proposed for it, before anything of it is wanted. Those of the configured
    /// accounts are named already.
    pub fn announce(&self, scope: &str, limits: ScopeLimits) {
        self.0.tell(Event::Scope {
            scope: scope.to_owned(),
            limits,
        });
    }

    /// What an operator wants. See [`Operated::recorded`].
    pub fn operate(&self, operation: Operation) -> Operated {
        Operated(self.0.lock().driver.operate(Event::Operate(operation)))
    }

    /// Whether permits are granted, and why not.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.0.lock().driver.limiter.mode().clone()
    }

    /// Whether permits are granted.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(self.0.lock().driver.limiter.mode(), Mode::Live)
    }

    /// Whether everything in the log was looked through, and there is nothing to begin from: then the first offset that
    /// the broker still has. 0 means that nobody ever used the log, more that its records were deleted.
    #[must_use]
    pub fn lacks_beginning(&self) -> Option<i64> {
        self.0.lock().driver.limiter.lacks_beginning()
    }

    /// Every scope as the log has it, for people and `/health`.
    #[must_use]
    pub fn view(&self) -> View {
        self.0.lock().driver.view()
    }

    /// What happened so far, for metrics.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.0.lock().driver.limiter.counts()
    }
}

/// An operation that was handed over.
pub struct Operated(Vec<oneshot::Receiver<()>>);

impl Operated {
    /// Waits until the operation's record was read back, so that every worker has it or will; false if that did not
    /// happen in time, or if nothing was appended. It may still turn up then.
    pub async fn recorded(self, longest: Duration) -> bool {
        let all = async {
            let mut recorded = !self.0.is_empty();
            for record in self.0 {
                recorded &= record.await.is_ok();
            }
            recorded
        };
        tokio::time::timeout(longest, all).await.unwrap_or(false)
    }
}
