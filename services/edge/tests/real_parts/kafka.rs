use rdkafka::Message;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{Consumer, StreamConsumer};
use rdkafka::producer::{FutureProducer, FutureRecord};
use tidings_edge::config::{Config, GroupProtocol};
use tidings_edge::kafka::{
    Lane, TopicsError, admin_config, apply, check, consumer_config, dead_letter_producer_config,
    dead_letter_topic, lane_topic, producer_config, specs,
};

use super::config;

fn problems(error: TopicsError) -> Vec<String> {
    let TopicsError::Unfit(problems) = error else {
        panic!("{error:?}");
    };
    problems.iter().map(ToString::to_string).collect()
}

async fn create(config: &Config, name: &str, partitions: i32, settings: &[(&str, &str)]) {
    let admin: AdminClient<DefaultClientContext> = admin_config(&config.kafka).create().unwrap();
    let topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
    let topic = settings
        .iter()
        .fold(topic, |topic, (key, value)| topic.set(key, value));
    let created = admin
        .create_topics(&[topic], &AdminOptions::new())
        .await
        .unwrap();
    created.into_iter().for_each(|result| {
        result.unwrap();
    });
}

#[tokio::test]
async fn topics_are_made_once_and_then_fit() {
    let mut config = config("topics").await;
    config.relay.streams = vec!["order".into()];
    let missing = problems(check(&config).await.unwrap_err());
    assert_eq!(missing.len(), specs(&config).len());
    assert!(
        missing[0].contains("tidings topics apply"),
        "{}",
        missing[0]
    );

    assert_eq!(apply(&config).await.unwrap().len(), specs(&config).len());
    check(&config).await.unwrap();
    assert!(apply(&config).await.unwrap().is_empty());
}

#[tokio::test]
async fn topics_that_do_not_fit_are_refused_and_nothing_is_made() {
    let config = config("topics_unfit").await;
    let lane = lane_topic(&config.kafka, "telegram", Lane::Normal);
    create(&config, &lane, 2, &[("cleanup.policy", "compact")]).await;
    let found = problems(apply(&config).await.unwrap_err());
    assert!(
        found[0].contains("partitions is 2, expected 3"),
        "{found:?}"
    );
    assert!(
        found
            .iter()
            .any(|problem| problem.contains("cleanup.policy is compact")),
        "{found:?}"
    );
    assert!(
        found.iter().all(|problem| problem.contains(&lane)),
        "{found:?}"
    );
    // All the others are still missing, and one that does not fit is told with them.
    let all = problems(check(&config).await.unwrap_err());
    let missing = all.iter().filter(|problem| problem.contains("is missing"));
    assert_eq!(missing.count(), specs(&config).len() - 1);
    assert!(all.iter().any(|problem| problem.contains(&lane)), "{all:?}");
}

#[tokio::test]
async fn records_travel_with_both_group_protocols() {
    let mut config = config("records").await;
    apply(&config).await.unwrap();
    let topic = lane_topic(&config.kafka, "telegram", Lane::High);
    let producer: FutureProducer = producer_config(&config.kafka).create().unwrap();
    for key in ["42", "-1001234567890", "chat", "", "7", "abcdefgh"] {
        let record = FutureRecord::to(&topic).key(key).payload("hello");
        let sent = producer.send(record, config.kafka.admin_timeout).await;
        // Where Java's default partitioner places the key.
        assert_eq!(
            sent.unwrap().partition,
            murmur2(key.as_bytes()) % 3,
            "{key:?}"
        );
    }
    for protocol in [GroupProtocol::Classic, GroupProtocol::Consumer] {
        config.kafka.group_protocol = protocol;
        let group = format!("{}-{protocol:?}", config.kafka.prefix);
        let consumer: StreamConsumer = consumer_config(&config.kafka, &group).create().unwrap();
        consumer.subscribe(&[&topic]).unwrap();
        let record = consumer.recv().await.unwrap();
        assert_eq!(record.payload(), Some(b"hello".as_slice()), "{protocol:?}");
    }
}

/// Kafka's hash of keys, positive, as its Java client computes it.
fn murmur2(data: &[u8]) -> i32 {
    const M: u32 = 0x5bd1_e995;
    let mut hash = 0x9747_b28c ^ data.len() as u32;
    let words = data.chunks_exact(4);
    let rest = words.remainder();
    for word in words {
        let mut word = u32::from_le_bytes(word.try_into().unwrap()).wrapping_mul(M);
        word ^= word >> 24;
        hash = hash.wrapping_mul(M) ^ word.wrapping_mul(M);
    }
    for (position, byte) in rest.iter().enumerate().rev() {
        hash ^= u32::from(*byte) << (8 * position);
    }
    if !rest.is_empty() {
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    ((hash ^ hash >> 15) & 0x7fff_ffff).cast_signed()
}

#[tokio::test]
async fn a_dead_letter_of_the_largest_record_fits_with_its_headers() {
    let mut config = config("dead_letter").await;
    config.kafka.max_message_bytes = 100_000;
    config.relay.payload_bytes = 50_000;
    apply(&config).await.unwrap();
    let topic = dead_letter_topic(&config.kafka, "telegram");
    let producer: FutureProducer = dead_letter_producer_config(&config.kafka).create().unwrap();
    // Incompressible, so that the broker's limit is met as the worst case meets it.
    let mut state = 1_u64;
    let payload: Vec<u8> = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    })
    .take(100_000 + 60_000)
    .collect();
    let record = FutureRecord::<(), _>::to(&topic).payload(&payload);
    let sent = producer.send(record, config.kafka.admin_timeout).await;
    assert!(sent.is_ok(), "{:?}", sent.err().map(|(error, _)| error));
}
