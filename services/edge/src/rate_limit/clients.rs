//! The settings of the two clients of the rate-limit topic. Both hold a password, perhaps: never logged.

use rdkafka::ClientConfig;

use crate::config::Config;
use crate::kafka::client_config;

/// Appends that may wait in the client. The machine asks for what it wants again, so a full queue loses nothing.
const QUEUE_RECORDS: &str = "10000";
/// The largest record, in bytes: a part of a snapshot and room to spare.
const RECORD_BYTES: &str = "1000000";

/// Sends at once, and gives a record up after a bounded time: a reservation that arrives late asks for nothing.
pub(super) fn producer_config(config: &Config) -> ClientConfig {
    let mut client = client_config(&config.kafka);
    let timeout_millis = config.limits.append_timeout.as_millis().to_string();
    client
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("linger.ms", "0")
        .set("message.timeout.ms", timeout_millis)
        .set("retry.backoff.ms", "50")
        .set("message.max.bytes", RECORD_BYTES)
        .set("queue.buffering.max.messages", QUEUE_RECORDS)
        .set("partitioner", "murmur2_random")
        .set("socket.nagle.disable", "true");
    client
}

/// Reads one partition that it is told, from where it is told. The group is never joined and nothing is committed; the
/// client wants its name to read at all, and the dispatcher's has its access granted already.
pub(super) fn consumer_config(config: &Config) -> ClientConfig {
    let mut client = client_config(&config.kafka);
    client
        .set("group.id", &config.dispatcher.group)
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        // An offset that is gone must be noticed, not stepped over.
        .set("auto.offset.reset", "error")
        .set("allow.auto.create.topics", "false")
        .set("enable.partition.eof", "true")
        // Aborted or open transactions must not hide records: nobody may write some, and a gap would close the log.
        .set("isolation.level", "read_uncommitted")
        .set("fetch.min.bytes", "1")
        .set(
            "fetch.wait.max.ms",
            config.limits.fetch_wait.as_millis().to_string(),
        )
        .set("fetch.queue.backoff.ms", "5")
        .set("fetch.error.backoff.ms", "50")
        .set("queued.max.messages.kbytes", "16384")
        .set("socket.nagle.disable", "true");
    client
}

#[cfg(test)]
mod tests {
    use rdkafka::consumer::BaseConsumer;
    use rdkafka::producer::BaseProducer;

    use super::*;

    /// librdkafka checks names, values and their combinations when a client is made.
    #[test]
    fn librdkafka_accepts_both() {
        let config = Config::defaults().unwrap();
        producer_config(&config).create::<BaseProducer>().unwrap();
        consumer_config(&config).create::<BaseConsumer>().unwrap();
    }
}
