//! From a record to a message, or to the reason why it never will be one. Runs on the member's thread, so that the
//! engine's does not wait for it.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};

use rdkafka::Message as _;
use rdkafka::message::OwnedMessage;
use tidings_delivery::PartitionId;
use tidings_envelope::{
    Catalogue, Limits, Message, Poison, PoisonCategory, WriterSchema, decode, wire,
};

use crate::consumer::Lanes;

/// What a record costs beside its bytes: its slot, its place in queues, its allocations.
const RECORD_OVERHEAD_BYTES: usize = 512;

/// The most schemas kept; past it the map starts anew. A deployment has tens.
const SCHEMAS: usize = 10_000;

/// A record as it came, and what could be made of it.
pub(crate) struct Intake {
    pub(crate) partition: PartitionId,
    pub(crate) record: OwnedMessage,
    pub(crate) bytes: usize,
    pub(crate) decoded: Decoded,
}

/// What could be made of a record.
#[derive(Clone)]
pub(crate) enum Decoded {
    Message(Arc<Message>),
    Poison(Arc<str>),
    /// The registry must be asked first.
    NeedsSchema(u32),
}

/// A schema id, as far as it is known.
#[derive(Clone)]
enum Known {
    Readable(Arc<WriterSchema>),
    /// No record with this id can be read here.
    Unreadable(Poison),
}

/// Decodes with the schemas known so far; shared by the member's thread and the engine.
pub(crate) struct Decoder {
    catalogue: Arc<Catalogue>,
    limits: Limits,
    known: RwLock<HashMap<u32, Known>>,
}

impl Decoder {
    pub(crate) fn new(catalogue: Arc<Catalogue>, limits: Limits) -> Self {
        Self {
            catalogue,
            limits,
            known: RwLock::new(HashMap::new()),
        }
    }

    /// Takes a record in; `None` for a topic that was not asked for.
    pub(crate) fn take_in(&self, lanes: &Lanes, record: OwnedMessage) -> Option<Intake> {
        let partition = lanes.id(record.topic(), record.partition())?;
        let bytes = record.key().map_or(0, <[u8]>::len)
            + record.payload().map_or(0, <[u8]>::len)
            + RECORD_OVERHEAD_BYTES;
        let decoded = self.decode(&lanes.get(partition).platform, record.payload());
        Some(Intake {
            partition,
            record,
            bytes,
            decoded,
        })
    }

    /// Total over any bytes: a panic in what reads them is a reason like any other (B13).
    pub(crate) fn decode(&self, platform: &str, value: Option<&[u8]>) -> Decoded {
        let attempt = catch_unwind(AssertUnwindSafe(|| self.try_decode(platform, value)));
        match attempt {
            Ok(Ok(decoded)) => decoded,
            Ok(Err(poison)) => Decoded::Poison(poison.to_string().into()),
            Err(_) => {
                let poison = Poison::new(
                    PoisonCategory::HandlerPanicked,
                    "value",
                    "the decoder panicked; report it with these bytes",
                );
                Decoded::Poison(poison.to_string().into())
            }
        }
    }

    fn try_decode(&self, platform: &str, value: Option<&[u8]>) -> Result<Decoded, Poison> {
        let value = value.ok_or_else(|| {
            Poison::new(
                PoisonCategory::NullValue,
                "value",
                "is null; a lane carries envelopes only",
            )
        })?;
        let (id, body) = wire::split(value)?;
        let known = self.read().get(&id).cloned();
        let writer = match known {
            Some(Known::Readable(writer)) => writer,
            Some(Known::Unreadable(poison)) => return Err(poison),
            None => return Ok(Decoded::NeedsSchema(id)),
        };
        let message = decode(&writer, body, &self.limits)?;
        let destination = message.destination()?;
        if destination.platform != platform {
            return Err(Poison::new(
                PoisonCategory::InvalidEnvelope,
                "envelope.destination.platform",
                format!("is {:?} on a lane of {platform:?}", destination.platform),
            ));
        }
        Ok(Decoded::Message(Arc::new(message)))
    }

    /// Remembers what the registry said an id means.
    pub(crate) fn learn(&self, id: u32, schema_json: &str) {
        let known = match WriterSchema::bind(&self.catalogue, schema_json) {
            Ok(writer) => Known::Readable(Arc::new(writer)),
            Err(poison) => Known::Unreadable(poison),
        };
        let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= SCHEMAS {
            all.clear();
        }
        all.insert(id, known);
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, HashMap<u32, Known>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }
}
