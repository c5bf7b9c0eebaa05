//! Performing what the limiter wants done.

use std::time::{Duration, Instant};

use tidings_ratelimit::{AppendId, Effect, Mode, StoppedWhy};
use tracing::{debug, error, info, warn};

use super::{Driver, LogCommand};
use crate::rate_limit::keeper::KeeperCommand;
use crate::rate_limit::notices::Notice;

/// The pause before an append that the client refused is told as failed, so that asking again cannot spin.
const REFUSED_PAUSE: Duration = Duration::from_millis(50);

impl Driver {
    pub(super) fn perform_all(&mut self, mut effects: Vec<Effect>) {
        for effect in effects.drain(..) {
            self.perform(effect);
        }
        self.effects = effects;
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Append { id, key, value } => self.append(id, &key, value),
            Effect::Read { from } => self.command(LogCommand::Read(from)),
            Effect::Reopen => self.command(LogCommand::Reopen),
            Effect::Mode(mode) => self.change_mode(mode),
            Effect::Granted { permit, validity } => {
                let (from, until) = (self.instant(validity.from), self.instant(validity.until));
                let notice = Notice::Granted {
                    permit,
                    from,
                    until,
                };
                self.tray.put(permit, notice);
            }
            Effect::Voided { permit, why } => {
                self.tray.put(permit, Notice::Voided { permit, why });
            }
            Effect::Declined(permit) => self.tray.put(permit, Notice::Declined(permit)),
            Effect::Waiting { permit, wait, why } => {
                self.tray.put(permit, Notice::Waiting { permit, wait, why });
            }
            Effect::KeepPenalty { id, target, wait } => {
                let until = Instant::now().checked_add(wait);
                self.keep(KeeperCommand::Keep {
                    id,
                    target,
                    wait,
                    until,
                });
            }
            Effect::ForgetPenalty(target) => self.keep(KeeperCommand::Forget(target)),
        }
    }

    fn append(&mut self, id: AppendId, key: &str, value: Vec<u8>) {
        if !self.appends {
            return;
        }
        if !self.hand_over(id, key, &value) {
            self.refused.push(id);
            self.refused_told_at
                .get_or_insert_with(|| Instant::now() + REFUSED_PAUSE);
        }
        self.unread_since.get_or_insert_with(Instant::now);
        if let Some(values) = &mut self.recording {
            values.push(value);
        }
    }

    fn hand_over(&self, id: AppendId, key: &str, value: &[u8]) -> bool {
        let Some(appender) = &self.appender else {
            return false;
        };
        let appended = appender.append(id, key, value);
        if let Err(error) = &appended {
            debug!(%error, "the client of the rate-limit topic refused a record");
        }
        appended.is_ok()
    }

    /// The latest command counts, but for the end, which stays.
    fn command(&mut self, command: LogCommand) {
        if self.command != Some(LogCommand::End) {
            self.command = Some(command);
        }
    }

    fn change_mode(&mut self, mode: Mode) {
        match &mode {
            Mode::Searching | Mode::Replaying => debug!(?mode, "rate-limit topic"),
            Mode::Live => {
                info!("rate-limit topic: read to its end, permits are granted");
                self.keep(KeeperCommand::Read);
            }
            Mode::Closed(why) => {
                warn!(reason = %why, "no permits are granted until the rate-limit topic is read again")
            }
            Mode::Stopped(why) => self.stop(why),
        }
        self.tray.mode(mode);
    }

    fn stop(&mut self, why: &StoppedWhy) {
        error!(reason = %why, "no permits are granted by this process any more");
        self.command = Some(LogCommand::End);
    }

    fn keep(&mut self, command: KeeperCommand) {
        let Some(keeper) = &self.keeper else {
            return;
        };
        if let Err(error) = keeper.try_send(command) {
            warn!(%error, "a long penalty is in the log only: the state database is behind; see limits.max_pending_penalties");
        }
    }
}
