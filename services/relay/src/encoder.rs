//! A row becomes a record: which topic, which partition, which bytes; or why it cannot.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use rdkafka::message::OwnedHeaders;
use tidings_edge::config::{Config, HeaderSet};
use tidings_edge::kafka::{Lane, event_stream_topic, lane_topic};
use tidings_edge::telemetry::Traces;
use tidings_envelope::partition::partition_for;
use tidings_envelope::trace::TraceContext;
use tidings_envelope::{
    Catalogue, Destination, Envelope, EventType, Limits, Priority, Rejection, RejectionCode, wire,
};

use crate::headers::headers;
use crate::row::OutboxRow;
use crate::traces::context_of;

/// What a record of librdkafka takes beside key, value and headers, rounded up: lengths, timestamp, batch header.
const RECORD_OVERHEAD_BYTES: usize = 128;
/// What the six headers take beside the texts that upstream chooses, rounded up; the full set takes twice that.
const HEADER_BYTES: usize = 1_024;

/// Everything that turns rows into records; shared by the shards.
#[derive(Debug)]
pub(crate) struct Encoder {
    catalogue: Arc<Catalogue>,
    /// Registry ids, by the event type's full name.
    schema_ids: BTreeMap<String, u32>,
    /// The topics of a platform's lanes.
    lanes: BTreeMap<String, Lanes>,
    /// The topics of the declared streams.
    streams: BTreeMap<String, String>,
    partitions: NonZeroU32,
    limits: Limits,
    max_message_bytes: usize,
    header_set: HeaderSet,
    traces: Traces,
}

#[derive(Debug)]
struct Lanes {
    high: String,
    normal: String,
}

/// A record, ready to be produced.
pub(crate) struct Record<'a> {
    pub(crate) topic: &'a str,
    pub(crate) partition: i32,
    pub(crate) key: &'a str,
    pub(crate) value: &'a [u8],
    pub(crate) headers: OwnedHeaders,
    /// The context of the `create` span, for a record that carries a message.
    pub(crate) context: Option<TraceContext>,
}

impl Encoder {
    /// An encoder for the catalogue's event types, whose registry ids are known by full name.
    pub(crate) fn new(
        config: &Config,
        catalogue: Arc<Catalogue>,
        schema_ids: BTreeMap<String, u32>,
    ) -> Self {
        let kafka = &config.kafka;
        let lanes = |platform: &String| Lanes {
            high: lane_topic(kafka, platform, Lane::High),
            normal: lane_topic(kafka, platform, Lane::Normal),
        };
        let platforms = config.dispatcher.platforms.iter();
        let streams = config.relay.streams.iter();
        Self {
            catalogue,
            schema_ids,
            lanes: platforms
                .map(|platform| (platform.clone(), lanes(platform)))
                .collect(),
            streams: streams
                .map(|stream| (stream.clone(), event_stream_topic(kafka, stream)))
                .collect(),
            partitions: NonZeroU32::new(kafka.partitions).unwrap_or(NonZeroU32::MIN),
            limits: Limits {
                payload_bytes: config.relay.payload_bytes,
            },
            max_message_bytes: usize::try_from(kafka.max_message_bytes).unwrap_or(usize::MAX),
            header_set: config.relay.headers,
            traces: Traces::off(),
        }
    }

    /// The same, with the sampler of `traces` deciding what is traced.
    pub(crate) fn with_traces(mut self, traces: Traces) -> Self {
        self.traces = traces;
        self
    }

    /// Where spans go.
    pub(crate) fn traces(&self) -> &Traces {
        &self.traces
    }

    /// The most bytes of data that a row's read fetches.
    pub(crate) fn payload_bytes(&self) -> usize {
        self.limits.payload_bytes
    }

    /// A topic that rows go to, to ask the cluster for.
    pub(crate) fn any_topic(&self) -> Option<&str> {
        let lane = self
            .lanes
            .values()
            .map(|lanes| lanes.normal.as_str())
            .next();
        lane.or_else(|| self.streams.values().map(String::as_str).next())
    }

    /// Encodes a row; `value` is the buffer for its bytes, emptied first.
    pub(crate) fn encode<'a>(
        &'a self,
        row: &'a OutboxRow,
        value: &'a mut Vec<u8>,
    ) -> Result<Record<'a>, Rejection> {
        let envelope = &row.envelope;
        let event = self
            .catalogue
            .find(&envelope.event_type, envelope.event_version)?;
        let (topic, key) = self.place(envelope)?;
        let data = row.data.as_deref().ok_or_else(|| self.too_much_data(row))?;
        value.clear();
        wire::write_header(self.schema_id(event)?, value);
        event.encode(envelope, data, &self.limits, value)?;
        self.check_size(envelope, key, value.len())?;
        check_content(event, envelope)?;
        let context = context_of(&self.traces, row);
        Ok(Record {
            topic,
            partition: i32::try_from(partition_for(key.as_bytes(), self.partitions))
                .unwrap_or_default(),
            key,
            value,
            headers: headers(self.header_set, envelope, key, &context),
            context: Some(context),
        })
    }

    fn place<'a>(&'a self, envelope: &'a Envelope) -> Result<(&'a str, &'a str), Rejection> {
        match &envelope.destination {
            Some(destination) => Ok((
                self.lane(destination, envelope.priority)?,
                &destination.chat_id,
            )),
            None => Ok((
                self.stream(envelope)?,
                envelope.aggregate_id.as_deref().unwrap_or_default(),
            )),
        }
    }

    fn lane(&self, destination: &Destination, priority: Priority) -> Result<&str, Rejection> {
        let lanes = self.lanes.get(&destination.platform).ok_or_else(|| {
            let known = self.lanes.keys().map(String::as_str);
            unplaced(
                "destination.platform",
                &destination.platform,
                "platform",
                known,
                "dispatcher.platforms",
            )
        })?;
        Ok(match priority {
            Priority::High => &lanes.high,
            Priority::Normal => &lanes.normal,
        })
    }

    fn stream(&self, envelope: &Envelope) -> Result<&str, Rejection> {
        let stream = envelope.aggregate_type.as_deref().unwrap_or_default();
        self.streams.get(stream).map(String::as_str).ok_or_else(|| {
            let known = self.streams.keys().map(String::as_str);
            unplaced("aggregate_type", stream, "stream", known, "relay.streams")
        })
    }

    fn schema_id(&self, event: &EventType) -> Result<u32, Rejection> {
        // All of the catalogue is registered before the first row is read.
        self.schema_ids
            .get(event.full_name())
            .copied()
            .ok_or_else(|| Rejection {
                code: RejectionCode::UnknownType,
                field: "event_type".into(),
                problem: format!("{} is not registered", event.full_name()),
                remedy: "restart the relay, which registers it".into(),
            })
    }

    fn too_much_data(&self, row: &OutboxRow) -> Rejection {
        too_large(
            "data",
            usize::try_from(row.data_bytes).unwrap_or_default(),
            self.limits.payload_bytes,
        )
    }

    /// The topic's limit is checked before the producer has the record, because the broker's refusal would stop all
    /// records behind it.
    fn check_size(
        &self,
        envelope: &Envelope,
        key: &str,
        value_bytes: usize,
    ) -> Result<(), Rejection> {
        let texts = envelope.producer.len() + envelope.event_type.len();
        let header_bytes = match self.header_set {
            HeaderSet::Minimal => HEADER_BYTES + texts,
            HeaderSet::Full => 2 * HEADER_BYTES + texts,
        };
        let bytes = value_bytes + key.len() + header_bytes + RECORD_OVERHEAD_BYTES;
        if bytes > self.max_message_bytes {
            return Err(too_large("data", bytes, self.max_message_bytes));
        }
        Ok(())
    }
}

fn too_large(field: &str, bytes: usize, most: usize) -> Rejection {
    Rejection {
        code: RejectionCode::TooLarge,
        field: field.into(),
        problem: format!("{bytes} bytes are more than the {most} that a message may have"),
        remedy: "store the content and publish its key as a claim check: `tidings claim-check put` prints that argument of tidings.publish".into(),
    }
}

/// A chat gets texts: a claim check that no text uses would be lost without a word. Streams carry it for their readers.
fn check_content(event: &EventType, envelope: &Envelope) -> Result<(), Rejection> {
    if envelope.claim_check.is_none() || envelope.destination.is_none() || event.uses_content() {
        return Ok(());
    }
    Err(Rejection {
        code: RejectionCode::InvalidEnvelope,
        field: "claim_check".into(),
        problem: format!("the text of {} does not use its content", event.name()),
        remedy: "publish it as notification.requested, or use {{ content }} in the event type's template.txt".into(),
    })
}

fn unplaced<'a>(
    field: &str,
    value: &str,
    kind: &str,
    known: impl Iterator<Item = &'a str>,
    setting: &str,
) -> Rejection {
    /// The most characters of a row's value that a reason quotes.
    const QUOTED_CHARS: usize = 100;
    let value: String = value.chars().take(QUOTED_CHARS).collect();
    let known = known.collect::<Vec<_>>().join(", ");
    let known = if known.is_empty() {
        "none".to_owned()
    } else {
        known
    };
    Rejection {
        code: RejectionCode::InvalidEnvelope,
        field: field.into(),
        problem: format!("there is no {kind} \"{value}\"; there are: {known}"),
        remedy: format!("publish to one of them, or declare it in {setting} and create its topics"),
    }
}

#[cfg(test)]
mod tests;
