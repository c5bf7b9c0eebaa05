//! Records come in: what the machine needs to know of them goes to it, what the edge needs is kept.

use std::sync::Arc;
use std::time::Instant;

use rdkafka::Message as _;
use tidings_delivery::{
    Arrival, Class, Content, Delivery, Event, OnUnknown, Poison, RetryName, SlotId,
};
use tidings_edge::config::UnknownPolicy;
use tidings_envelope::{Message, OnDead, Policy, RetryProfile};

use tracing::error;

use super::{Engine, Payload};
use crate::claims::Key;
use crate::consumer::ToKafka;
use crate::decode::{Decoded, Intake};
use crate::traces::MessageTrace;

impl Engine {
    pub(super) fn take_in(&mut self, intake: Intake) {
        if self.assignment.awaits(intake.partition) {
            // Dropping it would let the watermark pass it. The group begins again from what is committed.
            error!(partition = ?intake.partition, "a record came before its partition's epoch");
            self.ask(ToKafka::Close);
            return;
        }
        let arrival = self.arrival(intake, true);
        self.tell(Event::Arrived(arrival));
    }

    /// Keeps what the edge needs of a record, and makes what the machine is told. With `in_turn` it waits behind those
    /// of its key that wait for their schemas.
    pub(super) fn arrival(&mut self, intake: Intake, in_turn: bool) -> Arrival {
        self.next_slot += 1;
        let slot = SlotId(self.next_slot);
        let Intake {
            partition,
            record,
            bytes,
            decoded,
        } = intake;
        let offset = record.offset();
        let decoded = match in_turn {
            true => self.in_turn(slot, partition, record.key(), decoded),
            false => decoded,
        };
        let trace = MessageTrace::begin(&self.parts.traces, &record);
        self.payloads.insert(
            slot,
            Payload {
                partition,
                record: Arc::new(record),
                message: None,
                key: None,
                received: Instant::now(),
                wanted: None,
                last_reason: Arc::from(""),
                class: "none",
                trace,
            },
        );
        Arrival {
            slot,
            partition,
            offset,
            bytes,
            content: self.content(slot, decoded),
        }
    }

    /// What the machine needs to know of a record; keeps what the edge needs.
    pub(super) fn content(&mut self, slot: SlotId, decoded: Decoded) -> Content {
        match decoded {
            Decoded::NeedsSchema(_) => Content::Waiting,
            Decoded::Poison(reason) => {
                if let Some(payload) = self.payloads.get_mut(&slot) {
                    payload.last_reason = Arc::clone(&reason);
                }
                Content::Poison(Poison { reason })
            }
            Decoded::Message(message) => {
                let delivery = self.delivery(slot, &message);
                if let Some(payload) = self.payloads.get_mut(&slot) {
                    payload.key = Some(key(&message));
                    payload.message = Some(message);
                }
                Content::Message(delivery)
            }
        }
    }

    fn delivery(&self, slot: SlotId, message: &Message) -> Delivery {
        let (chat, account) = message.envelope.destination.as_ref().map_or_else(
            || (String::new(), String::new()),
            |to| (to.chat_key(), format!("{}:{}", to.platform, to.account)),
        );
        // Names from a topic are untrusted: accounts that nobody configured share one bulkhead.
        let account = if self.parts.caller.knows(&account) {
            account
        } else {
            "unknown".to_owned()
        };
        Delivery {
            chat: chat.into(),
            account: account.into(),
            thread: thread(message),
            event_type: message.event.name().into(),
            expires_at_micros: message.envelope.expires_at.map(|at| at.0),
            class: self.class(slot, message),
            on_unknown: self.on_unknown(message),
            retry: match message.event.retry() {
                RetryProfile::Standard => RetryName::Standard,
                RetryProfile::Interactive => RetryName::Interactive,
            },
            hold_on_dead: match message.event.on_dead() {
                OnDead::Continue => false,
                OnDead::Hold => true,
            },
        }
    }

    /// Requirement B27: what is old gets its permit after what is live.
    fn class(&self, slot: SlotId, message: &Message) -> Class {
        let payload = self.payloads.get(&slot);
        let class = payload.map_or(Class::Normal, |p| self.parts.lanes.get(p.partition).class);
        let age_micros = self.now().wall_micros - message.envelope.recorded_at.0;
        let after_micros = self.parts.backlog_after.as_micros();
        let old = u128::try_from(age_micros).is_ok_and(|age| age > after_micros);
        match class {
            Class::High | Class::Normal if old => Class::Backlog,
            Class::High | Class::Normal | Class::Backlog | Class::Replay => class,
        }
    }

    /// What the deployment says, else what the event type declares.
    fn on_unknown(&self, message: &Message) -> OnUnknown {
        let here = self.parts.policies.get(message.event.name());
        match (here, message.event.policy()) {
            (Some(UnknownPolicy::Park), _) | (None, Policy::Park) => OnUnknown::Park,
            (Some(UnknownPolicy::Resend), _) | (None, Policy::Resend) => OnUnknown::Resend,
        }
    }
}

fn thread(message: &Message) -> Option<Arc<str>> {
    let thread_id = message.envelope.destination.as_ref()?.thread_id.as_ref()?;
    Some(Arc::from(thread_id.as_str()))
}

const MICROS_PER_DAY: i64 = 86_400_000_000;

fn key(message: &Message) -> Key {
    let day = message.envelope.recorded_at.0.div_euclid(MICROS_PER_DAY);
    Key {
        recorded_day: i32::try_from(day).unwrap_or_default(),
        message_id: message.envelope.message_id,
        resend_nonce: Arc::from(""),
    }
}
