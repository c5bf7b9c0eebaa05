//! The limiter with what performs its effects.

mod perform;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidings_ratelimit::{AppendId, Effect, Event, Limiter, Moment, PermitId, View};
use tokio::sync::{mpsc, oneshot};

use super::appender::Appender;
use super::keeper::KeeperCommand;
use super::limits::Start;
use super::notices::Tray;

/// What the limiter wants of the thread that reads the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogCommand {
    /// Read from this offset on.
    Read(i64),
    /// Make new clients and look at the log anew.
    Reopen,
    /// End: the client is closed, or the limiter has stopped for good.
    End,
}

/// Waits for the record that an operation appends.
struct Watch {
    value: Vec<u8>,
    read: oneshot::Sender<()>,
}

pub(super) struct Driver {
    pub(super) limiter: Limiter,
    began: Instant,
    /// The latest moment that the limiter was told; its time must not run backwards.
    latest: Moment,
    effects: Vec<Effect>,
    tray: Arc<Tray>,
    keeper: Option<mpsc::Sender<KeeperCommand>>,
    appender: Option<Appender>,
    /// Whether anything is appended; a mere look at the log appends nothing.
    appends: bool,
    command: Option<LogCommand>,
    /// Appends that the client refused, and when that is told.
    refused: Vec<AppendId>,
    refused_told_at: Option<Instant>,
    /// Since when something that was appended has not been read.
    unread_since: Option<Instant>,
    watches: Vec<Watch>,
    /// What an operation that is being told appends.
    recording: Option<Vec<Vec<u8>>>,
    /// The time that the timer's thread waits for.
    pub(super) armed: Option<Instant>,
    closing: bool,
}

impl Driver {
    pub(super) fn new(
        limiter: Limiter,
        tray: Arc<Tray>,
        keeper: Option<mpsc::Sender<KeeperCommand>>,
        appends: bool,
    ) -> Self {
        Self {
            limiter,
            began: Instant::now(),
            latest: Moment(0),
            effects: Vec::new(),
            tray,
            keeper,
            appender: None,
            appends,
            command: None,
            refused: Vec::new(),
            refused_told_at: None,
            unread_since: None,
            watches: Vec::new(),
            recording: None,
            armed: None,
            closing: false,
        }
    }

    /// Hands one event to the limiter and performs what it wants done. `at` is when it happened: of a record, when the
    /// consumer handed it over, so that waiting for the lock does not shift its grants.
    pub(super) fn tell(&mut self, event: Event, at: Instant) {
        self.tell_refused();
        let now = self.moment(at);
        let mut effects = std::mem::take(&mut self.effects);
        self.limiter.handle(event, now, &mut effects);
        self.perform_all(effects);
    }

    /// Permits are asked for when the timer is told: what is ready by then goes in one record.
    pub(super) fn tell_timer_if_due(&mut self) {
        let now = Instant::now();
        if self.next_timer().is_some_and(|at| at <= now) {
            self.tell(Event::Timer, now);
        }
    }

    /// A record that was read. One that belongs to an earlier read, or to a log that is given up, is dropped.
    pub(super) fn take_record(
        &mut self,
        offset: i64,
        append_time_millis: i64,
        value: &[u8],
        at: Instant,
    ) {
        if self.command.is_some() {
            return;
        }
        self.unread_since = None;
        let read = self.watches.extract_if(.., |watch| watch.value == value);
        let read: Vec<Watch> = read.collect();
        let value = value.to_vec();
        self.tell(
            Event::Record {
                offset,
                append_time_millis,
                value,
            },
            at,
        );
        for watch in read {
            // Whoever waited may have given up.
            let _ = watch.read.send(());
        }
    }

    /// The reader is at the end of the log.
    pub(super) fn reached_end(&mut self, end: i64) {
        if self.command.is_none() {
            self.tell(Event::ReachedEnd { end }, Instant::now());
        }
    }

    pub(super) fn start(&mut self, permit: PermitId) -> Start {
        let now = self.moment(Instant::now());
        let mut effects = std::mem::take(&mut self.effects);
        let start = self.limiter.start(permit, now, &mut effects);
        self.perform_all(effects);
        match start {
            tidings_ratelimit::Start::Go { until } => {
                self.tray.withdraw(permit);
                Start::Go {
                    until: self.instant(until),
                }
            }
            tidings_ratelimit::Start::Early => Start::Early,
            tidings_ratelimit::Start::Void(why) => Start::Void(why),
            tidings_ratelimit::Start::Unknown => Start::Unknown,
        }
    }

    pub(super) fn cancel(&mut self, permit: PermitId) {
        self.tell(Event::Cancel(permit), Instant::now());
        self.tray.withdraw(permit);
    }

    /// Hands an operation over; the answers come when the records that it appends are read.
    pub(super) fn operate(&mut self, event: Event) -> Vec<oneshot::Receiver<()>> {
        self.recording = Some(Vec::new());
        self.tell(event, Instant::now());
        let values = self.recording.take().unwrap_or_default();
        let watched = values.into_iter().map(|value| {
            let (read, answer) = oneshot::channel();
            self.watches.push(Watch { value, read });
            answer
        });
        watched.collect()
    }

    pub(super) fn view(&mut self) -> View {
        let now = self.moment(Instant::now());
        self.limiter.view(now)
    }

    pub(super) fn install(&mut self, appender: Option<Appender>) -> Option<Appender> {
        self.unread_since = None;
        std::mem::replace(&mut self.appender, appender)
    }

    /// Whether what was appended has not been read for so long.
    pub(super) fn is_stalled(&self, deadline: Duration) -> bool {
        self.unread_since
            .is_some_and(|since| since.elapsed() >= deadline)
    }

    pub(super) fn close(&mut self) {
        self.closing = true;
        self.command = Some(LogCommand::End);
        // What is in the channel is still written; then its task ends.
        self.keeper = None;
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing
    }

    pub(super) fn has_command(&self) -> bool {
        self.command.is_some()
    }

    /// The command stays if it is the last.
    pub(super) fn take_command(&mut self) -> Option<LogCommand> {
        match self.command {
            Some(LogCommand::End) => self.command,
            Some(LogCommand::Read(_) | LogCommand::Reopen) | None => self.command.take(),
        }
    }

    /// When the limiter or a refused append wants to be told something.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        let timer = self.limiter.next_timer().map(|moment| self.instant(moment));
        [timer, self.refused_told_at].into_iter().flatten().min()
    }

    /// Whether the timer's thread waits for a later time than it should.
    pub(super) fn timer_moved_forward(&self) -> bool {
        let earlier = |next: Instant| self.armed.is_none_or(|armed| next < armed);
        self.next_timer().is_some_and(earlier)
    }

    fn moment(&mut self, at: Instant) -> Moment {
        let micros = at.saturating_duration_since(self.began).as_micros();
        let moment = Moment(u64::try_from(micros).unwrap_or(u64::MAX));
        self.latest = self.latest.max(moment);
        self.latest
    }

    fn instant(&self, moment: Moment) -> Instant {
        let since = Duration::from_micros(moment.0);
        let far = Duration::from_secs(365 * 86_400);
        self.began.checked_add(since).unwrap_or(self.began + far)
    }

    fn tell_refused(&mut self) {
        if self.refused_told_at.is_none_or(|at| at > Instant::now()) {
            return;
        }
        self.refused_told_at = None;
        for id in std::mem::take(&mut self.refused) {
            let now = self.moment(Instant::now());
            let mut effects = std::mem::take(&mut self.effects);
            self.limiter
                .handle(Event::NotAppended(id), now, &mut effects);
            self.perform_all(effects);
        }
    }
}

#[cfg(test)]
mod tests;
