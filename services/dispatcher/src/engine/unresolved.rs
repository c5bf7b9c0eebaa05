//! Records whose schema must be fetched first: they wait, records of other keys do not.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use rdkafka::Message as _;
use tidings_delivery::{Event, PartitionId, SlotId};
use tidings_edge::registry::{RegistryError, SchemaCache};
use tidings_envelope::{Poison, PoisonCategory};
use tokio::sync::mpsc;
use tracing::{Instrument as _, info_span, warn};

use super::{Engine, EngineError, Input};
use crate::decode::Decoded;

/// The wait between two questions about one id while the registry is away.
const REGISTRY_RETRY: Duration = Duration::from_millis(500);

/// How often schemas that came from the store alone are compared with the registry.
const REGISTRY_WATCH: Duration = Duration::from_secs(60);

/// A record key in a partition: what is kept in order while it is not known whose messages these are.
type KeyOf = (PartitionId, Vec<u8>);

/// What waits for schemas. Bounded by the records that a worker holds.
#[derive(Default)]
pub(super) struct Unresolved {
    queues: HashMap<KeyOf, VecDeque<(SlotId, u32)>>,
    fetching: HashSet<u32>,
}

impl Engine {
    /// A record that can be read still waits behind one of its key that can not be yet.
    pub(super) fn in_turn(
        &mut self,
        slot: SlotId,
        partition: PartitionId,
        key: Option<&[u8]>,
        decoded: Decoded,
    ) -> Decoded {
        let wanted = match decoded {
            Decoded::NeedsSchema(id) => id,
            Decoded::Message(_) | Decoded::Poison(_) if self.unresolved.queues.is_empty() => {
                return decoded;
            }
            // Its own schema is known: whatever the one before it waits for will do.
            Decoded::Message(_) | Decoded::Poison(_) => 0,
        };
        let key = (partition, key.unwrap_or_default().to_vec());
        let waits = match decoded {
            Decoded::NeedsSchema(_) => true,
            Decoded::Message(_) | Decoded::Poison(_) => self.unresolved.queues.contains_key(&key),
        };
        if !waits {
            return decoded;
        }
        self.unresolved
            .queues
            .entry(key)
            .or_default()
            .push_back((slot, wanted));
        if let Decoded::NeedsSchema(id) = decoded {
            self.fetch(id);
        }
        Decoded::NeedsSchema(wanted)
    }

    fn fetch(&mut self, id: u32) {
        if self.unresolved.fetching.insert(id) {
            let schemas = Arc::clone(&self.parts.schemas);
            let span = info_span!("fetch schema", id);
            tokio::spawn(ask_registry(schemas, id, self.inputs.clone()).instrument(span));
        }
    }

    pub(super) fn schema(&mut self, id: u32, schema_json: Result<String, String>) {
        self.unresolved.fetching.remove(&id);
        let missing = match schema_json {
            Ok(json) => {
                self.parts.decoder.learn(id, &json);
                None
            }
            Err(reason) => Some(reason),
        };
        let keys: Vec<KeyOf> = self
            .unresolved
            .queues
            .iter()
            .filter(|(_, queue)| queue.front().is_some_and(|(_, wanted)| *wanted == id))
            .map(|(key, _)| key.clone())
            .collect();
        for key in keys {
            self.resolve(&key, id, missing.as_deref());
        }
    }

    /// Goes through one key's queue until it is empty or needs another schema.
    fn resolve(&mut self, key: &KeyOf, id: u32, missing: Option<&str>) {
        while let Some((slot, _)) = self.front(key) {
            let mut decoded = self.decode_again(slot);
            if let Decoded::NeedsSchema(wanted) = decoded {
                match missing {
                    Some(reason) if wanted == id => decoded = unknown_schema(id, reason),
                    Some(_) | None => {
                        self.wait_for(key, wanted);
                        return;
                    }
                }
            }
            self.pop(key);
            let content = self.content(slot, decoded);
            self.tell(Event::Resolved { slot, content });
        }
        self.unresolved.queues.remove(key);
    }

    fn front(&self, key: &KeyOf) -> Option<(SlotId, u32)> {
        self.unresolved.queues.get(key)?.front().copied()
    }

    fn pop(&mut self, key: &KeyOf) {
        if let Some(queue) = self.unresolved.queues.get_mut(key) {
            queue.pop_front();
        }
    }

    fn wait_for(&mut self, key: &KeyOf, wanted: u32) {
        if let Some(front) = self
            .unresolved
            .queues
            .get_mut(key)
            .and_then(VecDeque::front_mut)
        {
            front.1 = wanted;
        }
        self.fetch(wanted);
    }

    fn decode_again(&self, slot: SlotId) -> Decoded {
        let Some(payload) = self.payloads.get(&slot) else {
            return Decoded::Poison(Arc::from(""));
        };
        let platform = &self.parts.lanes.get(payload.partition).platform;
        self.parts
            .decoder
            .decode(platform, payload.record.payload())
    }

    /// A record that leaves while it waits leaves its queue too.
    pub(super) fn forget_unresolved(&mut self, slot: SlotId, key: &KeyOf) {
        if let Some(queue) = self.unresolved.queues.get_mut(key) {
            queue.retain(|(waiting, _)| *waiting != slot);
            if queue.is_empty() {
                self.unresolved.queues.remove(key);
            }
        }
    }

    pub(super) fn anything_unresolved(&self) -> bool {
        !self.unresolved.queues.is_empty()
    }
}

fn unknown_schema(id: u32, reason: &str) -> Decoded {
    let poison = Poison::new(
        PoisonCategory::UnknownSchemaId,
        "value",
        format!("schema id {id} is not in the registry ({reason}); register it and replay"),
    );
    Decoded::Poison(poison.to_string().into())
}

/// Compares the ids that were served from the store while the registry was away with what it says once it is back.
pub(super) async fn watch_registry(
    schemas: Arc<SchemaCache>,
    inputs: mpsc::UnboundedSender<Input>,
) {
    while !inputs.is_closed() {
        tokio::time::sleep(REGISTRY_WATCH).await;
        if let Err(error @ RegistryError::IdChanged { .. }) = schemas.confirm_stored().await {
            // Closed means that the worker ends anyway.
            let _ = inputs.send(Input::Stop(EngineError::SchemaIdChanged(Box::new(error))));
            return;
        }
    }
}

/// Asks until the registry knows, or says that it never will, or the engine is gone.
async fn ask_registry(schemas: Arc<SchemaCache>, id: u32, inputs: mpsc::UnboundedSender<Input>) {
    while !inputs.is_closed() {
        let answer = match schemas.fetch(id).await {
            Ok(schema) => match serde_json::to_string(&*schema) {
                Ok(json) => Input::Schema {
                    id,
                    schema_json: Ok(json),
                },
                Err(error) => Input::Schema {
                    id,
                    schema_json: Err(error.to_string()),
                },
            },
            Err(error @ RegistryError::IdChanged { .. }) => {
                Input::Stop(EngineError::SchemaIdChanged(Box::new(error)))
            }
            Err(error) if error.is_permanent() => Input::Schema {
                id,
                schema_json: Err(error.to_string()),
            },
            Err(error) => {
                warn!(error = %error, id, "a schema is not to be had yet; its records wait");
                tokio::time::sleep(REGISTRY_RETRY).await;
                continue;
            }
        };
        // Closed means that nobody waits for it any more.
        let _ = inputs.send(answer);
        return;
    }
}
