//! What a dispatcher tells of its lanes.

use std::time::{Duration, Instant};

use rdkafka::message::Message as _;
use serde_json::json;
use tidings_drill::{Role, RoleKind};
use tidings_tests::connect;

use crate::world::{DAY, PATIENCE, World};

async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !condition().await {
        assert!(Instant::now() < until, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The values of a metric whose labels contain `labels`.
async fn metric(role: &Role, name: &str, labels: &str) -> Vec<f64> {
    let text = role.metrics().await.unwrap_or_default();
    let lines = text.lines().filter(|line| {
        let rest = line.strip_prefix(name).unwrap_or("x");
        (rest.starts_with('{') || rest.starts_with(' ')) && line.contains(labels)
    });
    lines
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn f44_a_dispatcher_alarms_while_an_old_record_is_unread_and_says_when_it_is_over() {
    let world = World::new().await;
    let simulator = world.deployment.simulator();
    let failing = json!({"rules": [{"match": {"chat_id": "7001"}, "action": {"answer": {"server_error": {"status": 503}}}}]});
    simulator
        .set_script(serde_json::from_value(failing).unwrap())
        .unwrap();
    let _relay = world.deployment.run(RoleKind::Relay, 1).await.unwrap();
    publish(&world, "7001").await;
    // The same record once more, behind the first and six days old: it waits as long as that fails.
    let record = world.first_record("normal").await;
    let value = vec![record.payload().unwrap().to_vec()];
    let key = record.key().unwrap();
    world.append_record("normal", record.partition(), key, &value, 6 * DAY);

    let role = world.deployment.role(RoleKind::Dispatcher, 1);
    let mut role = role.with_environment(vec![(
        "TIDINGS_DISPATCHER__STATISTICS_INTERVAL",
        "200ms".into(),
    )]);
    role.start().await.unwrap();
    role.ready(PATIENCE).await.unwrap();
    let log = || std::fs::read_to_string(role.log()).unwrap_or_default();
    let part = async || metric(&role, "tidings_lane_lag_of_retention", "lane=\"normal\"").await;
    let lag = async || metric(&role, "kafka_consumergroup_lag", &world.topic("normal")).await;
    until("six of seven days are told", async || {
        part().await.iter().any(|part| (0.85..0.87).contains(part))
    })
    .await;
    assert_eq!(lag().await.iter().sum::<f64>(), 2.0);
    assert!(
        log().contains("waited for half of its retention or more"),
        "{}",
        log()
    );

    simulator
        .set_script(serde_json::from_value(json!({"rules": []})).unwrap())
        .unwrap();
    until("nothing unread is told", async || {
        part().await == [0.0] && lag().await.iter().sum::<f64>() == 0.0
    })
    .await;
    assert!(
        log().contains("well within its retention again"),
        "{}",
        log()
    );
    until("the number is told", async || {
        metric(&role, "tidings_required_consumers", "").await == [1.0]
    })
    .await;

    let admin = role.admin().unwrap();
    let said = world.capacity(&["--dispatcher", &admin], &[]).await;
    assert_eq!(said.code, Some(0), "{}", said.output);
    let processing = said.capacity["inputs"]["processing_seconds"]["source"].as_str();
    assert!(
        processing.unwrap().starts_with("measured"),
        "{}",
        said.output
    );
    let account = &said.capacity["caps"]["quota"]["accounts"][0];
    assert_eq!(account["per_second"], 1_000.0, "{account}");
    assert_eq!(account["source"], "rate-limit topic: the limits in force");
}

async fn publish(world: &World, chat: &str) {
    let upstream = connect(&world.deployment.place().upstream_url).await;
    let statement = "select tidings.publish('notification.requested', 1, '{\"text\": \"hello\"}', 'greeting', $1::text,
        jsonb_build_object('platform', 'telegram', 'chat_id', $1::text))";
    upstream.query_one(statement, &[&chat]).await.unwrap();
}
