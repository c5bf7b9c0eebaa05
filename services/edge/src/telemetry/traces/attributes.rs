//! The attributes' names (reference/conventions.md, "Traces"): OpenTelemetry's semantic conventions as of 1.45, which the
//! constants crate lags behind, and our own under `tidings.`.

/// `kafka`.
pub const MESSAGING_SYSTEM: &str = "messaging.system.name";
/// `create`, `send`, `process`, `settle`.
pub const MESSAGING_OPERATION_NAME: &str = "messaging.operation.name";
/// The same, of the conventions' closed list.
pub const MESSAGING_OPERATION_TYPE: &str = "messaging.operation.type";
/// The topic.
pub const MESSAGING_DESTINATION: &str = "messaging.destination.name";
/// The partition, as text.
pub const MESSAGING_PARTITION: &str = "messaging.destination.partition.id";
/// The consumer group.
pub const MESSAGING_CONSUMER_GROUP: &str = "messaging.consumer.group.name";
/// The message's id.
pub const MESSAGING_MESSAGE_ID: &str = "messaging.message.id";
/// The envelope's correlation id.
pub const MESSAGING_CONVERSATION_ID: &str = "messaging.message.conversation_id";
/// How many messages one statement or one round of acknowledgements was about.
pub const MESSAGING_BATCH_COUNT: &str = "messaging.batch.message_count";
/// The record's offset.
pub const KAFKA_OFFSET: &str = "kafka.offset";
/// The record's key.
pub const KAFKA_MESSAGE_KEY: &str = "kafka.message.key";
/// The host that was called, without port.
pub const SERVER_ADDRESS: &str = "server.address";
/// Its port.
pub const SERVER_PORT: &str = "server.port";
/// A short word for what failed: an HTTP status, a kind of lost answer, a category.
pub const ERROR_TYPE: &str = "error.type";
/// `postgresql`.
pub const DB_SYSTEM: &str = "db.system.name";
/// `INSERT` or `UPDATE`.
pub const DB_OPERATION: &str = "db.operation.name";
/// The operation and the table; also the span's name.
pub const DB_QUERY_SUMMARY: &str = "db.query.summary";
/// `POST`.
pub const HTTP_METHOD: &str = "http.request.method";
/// The path with placeholders: never the URL, in whose path tokens are.
pub const URL_TEMPLATE: &str = "url.template";
/// The status of the platform's answer.
pub const HTTP_STATUS: &str = "http.response.status_code";
/// Which repeat this call is; absent on the first.
pub const HTTP_RESEND_COUNT: &str = "http.request.resend_count";
/// Of a link: what it would be in OpenTracing, and is in Jaeger.
pub const REF_TYPE: &str = "opentracing.ref_type";

/// The event type, `order.confirmed`.
pub const EVENT_TYPE: &str = "tidings.event_type";
/// The service that published.
pub const PRODUCER: &str = "tidings.producer";
/// The chat's key, `platform:account:chat_id`.
pub const CHAT: &str = "tidings.chat";
/// What an attempt's answer means (design §1).
pub const VERDICT: &str = "tidings.verdict";
/// How a record left (design §1): a settlement, `duplicate`, `poison`, `fenced`, `handed`.
pub const OUTCOME: &str = "tidings.outcome";
/// How many attempts counted.
pub const ATTEMPTS: &str = "tidings.attempts";
/// Why a dead letter was given up.
pub const CATEGORY: &str = "tidings.dead_letter.category";
/// What a statement of the state database was for: `claim`, `renew`, `started`, `sent`.
pub const STATEMENT: &str = "tidings.statement";
/// The length of a claim check's content.
pub const CONTENT_SIZE_BYTES: &str = "tidings.content.size_bytes";
/// The number of the claim that is held.
pub const FENCE: &str = "tidings.fence";
