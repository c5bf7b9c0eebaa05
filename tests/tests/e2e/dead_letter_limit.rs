//! An event type whose messages are all refused does not drain into the dead-letter topic.

use serde_json::json;
use tidings_drill::{Profile, Role};
use tidings_stack::Stack;

use crate::world::{World, until};

const REFUSED: &str =
    r#"{"ok":false,"error_code":400,"description":"Bad Request: can't parse entities: x"}"#;

async fn held(worker: &Role) -> bool {
    let metrics = worker.metrics().await.unwrap_or_default();
    metrics
        .lines()
        .any(|line| line == r#"tidings_dead_letters_held{event_type="notification.requested"} 1"#)
}

/// How many messages have this end.
async fn ended(world: &World, state: &str) -> i64 {
    let statement = "select count(*) from tidings_delivery.claims where state = $1";
    let row = world.state.query_one(statement, &[&state]).await.unwrap();
    row.get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_type_that_is_refused_is_held_back_and_goes_out_once_the_cause_is_gone() {
    let mut profile = Profile::drill();
    profile.more =
        "[dispatcher.dead_letter_limit]\nmin_outcomes = 5\nwait = \"500ms\"\nwait_max = \"2s\"\n"
            .into();
    let world = World::with(Stack::shared().await.unwrap(), profile).await;
    world.script(json!({"rules": [
        {"match": {}, "action": {"answer": {"raw": {"status": 400, "body": REFUSED}}}},
    ]}));
    let (_relay, worker) = (world.relay().await, world.dispatcher(1).await);
    for chat in 1..=30 {
        world.say(chat, "first").await;
        world.say(chat, "second").await;
    }
    until("they are held back", async || held(&worker).await).await;
    until("each chat was tried", async || {
        (1..=30).all(|chat| !world.calls(chat).is_empty())
    })
    .await;
    world.script(json!({"rules": []}));
    until("everything has its end", async || {
        ended(&world, "delivered").await + ended(&world, "rejected").await == 60
    })
    .await;
    let rejected = ended(&world, "rejected").await;
    assert!(rejected <= 4, "{rejected} dead letters, and the limit is 5");
    until("nothing is held back", async || !held(&worker).await).await;
    for chat in 1..=30 {
        let texts = world.texts(chat);
        assert!(
            texts.is_sorted(),
            "in order, but for dead letters: {texts:?}"
        );
    }
}
