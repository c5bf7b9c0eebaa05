//! What the threads and the callers of a log client share: the limiter behind its lock.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidings_ratelimit::{AppendId, Event, Limiter};
use tokio::sync::mpsc;

use super::appender::Appender;
use super::driver::{Driver, LogCommand};
use super::keeper::KeeperCommand;
use super::notices::Tray;

/// The least time between two timers of the limiter, so that one that asks for a time in the past cannot keep the lock.
const LEAST_TIMER_PAUSE: Duration = Duration::from_micros(250);

/// The limiter and how to wake those that wait for it. The lock is held for one event: microseconds.
pub(super) struct Shared {
    driver: Mutex<Driver>,
    /// The timer's thread waits here for an earlier time.
    timer: Condvar,
    /// The reader's thread waits here, when it has nothing to read, for a command.
    reader: Condvar,
    pub(super) tray: Arc<Tray>,
}

impl Shared {
    pub(super) fn new(
        limiter: Limiter,
        keeper: Option<mpsc::Sender<KeeperCommand>>,
        appends: bool,
    ) -> Self {
        let tray = Arc::new(Tray::default());
        Self {
            driver: Mutex::new(Driver::new(limiter, Arc::clone(&tray), keeper, appends)),
            timer: Condvar::new(),
            reader: Condvar::new(),
            tray,
        }
    }

    /// The limiter, for a look or for several events in a row.
    pub(super) fn lock(&self) -> Guard<'_> {
        Guard {
            shared: self,
            driver: self.driver.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Hands one event over that happens now.
    pub(super) fn tell(&self, event: Event) {
        self.lock().driver.tell(event, Instant::now());
    }

    pub(super) fn not_appended(&self, id: AppendId) {
        self.tell(Event::NotAppended(id));
    }

    /// Appends go through this one from now on. Returns the earlier, which must be dropped without the lock.
    #[must_use]
    pub(super) fn install(&self, appender: Option<Appender>) -> Option<Appender> {
        self.lock().driver.install(appender)
    }

    /// Asks the threads to end.
    pub(super) fn close(&self) {
        self.lock().driver.close();
        self.timer.notify_all();
        self.reader.notify_all();
    }

    /// Waits for a command, not longer than `longest`.
    pub(super) fn await_command(&self, longest: Duration) -> Option<LogCommand> {
        let driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .reader
            .wait_timeout_while(driver, longest, |driver| !driver.has_command());
        let (mut driver, _) = waited.unwrap_or_else(PoisonError::into_inner);
        driver.take_command()
    }

    /// Waits for as long, or until the client is closed. Tells whether it is.
    pub(super) fn pause(&self, pause: Duration) -> bool {
        let driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .reader
            .wait_timeout_while(driver, pause, |driver| !driver.is_closing());
        let (driver, _) = waited.unwrap_or_else(PoisonError::into_inner);
        driver.is_closing()
    }

    /// Tells the limiter of its times, until the client is closed. The timer's thread.
    pub(super) fn keep_time(&self) {
        let mut driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        let mut fired = None;
        while !driver.is_closing() {
            let least = fired.map(|at: Instant| at + LEAST_TIMER_PAUSE);
            let due = driver
                .next_timer()
                .max(least.filter(|_| driver.next_timer().is_some()));
            let now = Instant::now();
            let waited = match due {
                Some(at) if at <= now => {
                    driver.tell(Event::Timer, now);
                    fired = Some(now);
                    if driver.has_command() {
                        self.reader.notify_all();
                    }
                    continue;
                }
                Some(at) => {
                    driver.armed = Some(at);
                    let waited = self.timer.wait_timeout(driver, at - now);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => {
                    driver.armed = None;
                    self.timer
                        .wait(driver)
                        .unwrap_or_else(PoisonError::into_inner)
                }
            };
            driver = waited;
        }
    }
}

/// The lock on the limiter. Giving it back wakes whoever has something to do because of what happened.
pub(super) struct Guard<'a> {
    shared: &'a Shared,
    pub(super) driver: MutexGuard<'a, Driver>,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if self.driver.timer_moved_forward() {
            self.shared.timer.notify_all();
        }
        if self.driver.has_command() {
            self.shared.reader.notify_all();
        }
    }
}
