//! The shared limit (design §9): wishes go to its client together, its notices go to the machine.

use std::time::{Duration, Instant};

use metrics::histogram;
use tidings_delivery::{Class, Event, Moment, PermitId, SlotId, slot_of};
use tidings_edge::rate_limit::{Mode, Notice, RefusedWhy, Target, Want};
use tidings_edge::telemetry::metric_names;
use tidings_envelope::Destination;
use tidings_platforms::HoldScope;
use tracing::{debug, info, warn};

use super::{EVENTS_IN_A_ROW, Engine, EngineError};

/// How soon a wish is repeated that the limiter had no room for.
const DECLINED_WAIT: Duration = Duration::from_secs(2);

/// The target of the line about each permit's wait (at debug), apart from those about refusals, which are many.
const PERMITS_USED: &str = "tidings_dispatcher::permits_used";

/// A call's permit: since when it was wanted, and from when on the one that was granted last allowed the call.
pub(crate) struct PermitWait {
    since: Instant,
    until: Option<Instant>,
}

impl PermitWait {
    fn begin() -> Self {
        Self {
            since: Instant::now(),
            until: None,
        }
    }
}

impl Engine {
    pub(super) fn want(
        &mut self,
        slot: SlotId,
        permit: PermitId,
        class: Class,
        target: Option<&str>,
    ) {
        let Some(payload) = self.payloads.get_mut(&slot) else {
            return;
        };
        payload.wanted.get_or_insert_with(PermitWait::begin);
        let Some(to) = self.destination(slot) else {
            return;
        };
        let want = Want {
            permit,
            scope: scope(to),
            chat: target.unwrap_or(&to.chat_id).to_owned(),
            class,
        };
        self.wants.push(want);
    }

    pub(super) fn unwant(&mut self, permit: PermitId) {
        if let Some(payload) = self.payloads.get_mut(&slot_of(permit)) {
            payload.wanted = None;
        }
        let before = self.wants.len();
        self.wants.retain(|want| want.permit != permit);
        if self.wants.len() == before {
            self.parts.limits.cancel(permit);
        }
    }

    /// Sends what was wanted since the last round.
    pub(super) fn ask_for_permits(&mut self) {
        if !self.wants.is_empty() {
            self.parts.limits.want_all(self.wants.drain(..));
        }
    }

    pub(super) fn penalise(
        &mut self,
        slot: SlotId,
        target: Option<&str>,
        hold: HoldScope,
        wait: Duration,
    ) {
        let Some(to) = self.destination(slot) else {
            return;
        };
        let (scope, chat) = (scope(to), target.unwrap_or(&to.chat_id).to_owned());
        let target = match hold {
            HoldScope::Chat => Target::Chat { scope, chat },
            HoldScope::Account => Target::Account { scope },
            HoldScope::Address => Target::Address {
                platform: to.platform.clone(),
            },
            HoldScope::Unnamed => Target::Unnamed { scope, chat },
        };
        let reason = self
            .payloads
            .get(&slot)
            .map_or("", |payload| &payload.last_reason);
        self.parts.limits.throttled(target, wait, reason);
    }

    pub(super) fn take_notices(&mut self, first: Notice) -> Result<(), EngineError> {
        self.take_notice(first)?;
        for _ in 1..EVENTS_IN_A_ROW {
            let Some(notice) = self.parts.notices.try_recv() else {
                break;
            };
            self.take_notice(notice)?;
        }
        Ok(())
    }

    fn take_notice(&mut self, notice: Notice) -> Result<(), EngineError> {
        match notice {
            Notice::Granted { permit, from, .. } => {
                if let Some(payload) = self.payloads.get_mut(&slot_of(permit))
                    && let Some(wait) = &mut payload.wanted
                {
                    wait.until = Some(from.max(Instant::now()));
                }
                let from = self.moment_of(from);
                self.tell(Event::Permitted { permit, from });
            }
            Notice::Voided { permit, why } => {
                debug!(?permit, ?why, "a permit is void; another is asked for");
                self.tell(Event::Voided(permit));
            }
            Notice::Declined(permit) => self.tell(Event::ChatWaits {
                permit,
                wait: DECLINED_WAIT,
            }),
            Notice::Waiting { permit, wait, why } => self.waits(permit, wait, why),
            Notice::Mode(mode) => self.limit_mode(mode)?,
        }
        Ok(())
    }

    /// Requirement L13: scope, chat, seconds, why.
    fn waits(&mut self, permit: PermitId, wait: Duration, why: RefusedWhy) {
        if let Some(to) = self.destination(slot_of(permit)) {
            let seconds = wait.as_secs_f64();
            debug!(scope = %scope(to), chat = %to.chat_id, seconds, ?why, "waits for the limit");
        }
        match why {
            RefusedWhy::Chat | RefusedWhy::ChatHeld | RefusedWhy::TooManyChats => {
                self.tell(Event::ChatWaits { permit, wait });
            }
            // A place before the call is kept: the whole account waits, and in this order.
            RefusedWhy::Scope
            | RefusedWhy::Share
            | RefusedWhy::Class
            | RefusedWhy::Held
            | RefusedWhy::UnknownScope => {}
        }
    }

    fn limit_mode(&mut self, mode: Mode) -> Result<(), EngineError> {
        self.parts.stats.limit_closed(mode != Mode::Live);
        match mode {
            Mode::Live => info!("the rate-limit topic is read: permits are granted"),
            Mode::Searching | Mode::Replaying => {}
            Mode::Closed(why) => warn!(%why, "no permits: nothing is sent until the log is read"),
            Mode::Stopped(why) => return Err(EngineError::Limit(why)),
        }
        Ok(())
    }

    /// Observes how long the permit of a call was waited for: until its moment, whatever else the call waited for.
    pub(super) fn permit_used(&mut self, slot: SlotId) {
        let wait = self.payloads.get_mut(&slot).and_then(|p| p.wanted.take());
        let Some(PermitWait {
            since,
            until: Some(until),
        }) = wait
        else {
            return;
        };
        let seconds = until.saturating_duration_since(since).as_secs_f64();
        histogram!(metric_names::LIMIT_WAIT_SECONDS).record(seconds);
        if let Some(to) = self.destination(slot) {
            let (scope, chat) = (scope(to), to.chat_id.as_str());
            debug!(target: PERMITS_USED, %scope, chat, seconds, "has its permit");
        }
    }

    fn destination(&self, slot: SlotId) -> Option<&Destination> {
        let message = self.payloads.get(&slot)?.message.as_ref()?;
        message.envelope.destination.as_ref()
    }

    /// Not earlier than `at`, in the machine's whole microseconds.
    fn moment_of(&self, at: Instant) -> Moment {
        let since = at.saturating_duration_since(self.began);
        let micros = since.as_nanos().div_ceil(1_000);
        Moment(u64::try_from(micros).unwrap_or(u64::MAX))
    }
}

/// An account's limit scope is its name.
fn scope(to: &Destination) -> String {
    format!("{}:{}", to.platform, to.account)
}
