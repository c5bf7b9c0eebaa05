//! What a platform's answers lead to, on the whole way.

use serde_json::json;

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn each_answer_has_its_end_and_other_chats_go_on() {
    let world = World::new().await;
    world.script(json!({"rules": [
        {"match": {"chat_id": "1", "times": 1}, "action": {"answer": {"server_error": {"status": 503}}}},
        {"match": {"chat_id": "2", "times": 1}, "action": {"answer": {"throttle": {"retry_after": 1}}}},
        {"match": {"chat_id": "3"}, "action": {"answer": "blocked"}},
        {"match": {"chat_id": "4"}, "action": {"answer": {"raw": {"status": 400, "body":
            "{\"ok\":false,\"error_code\":400,\"description\":\"Bad Request: can't parse entities: x\"}"}}}},
        {"match": {"chat_id": "5", "times": 1}, "action": {"answer": {"server_error": {"status": 502, "html": true}}}},
        {"match": {"chat_id": "6"}, "action": {"answer": {"server_error": {"status": 503}}}},
        {"match": {"chat_id": "8", "times": 1}, "action": {"answer": {"migrated": {"new_chat_id": -1_001_557_912_345_i64}}}},
    ]}));
    let (_relay, _dispatcher) = (world.relay().await, world.dispatcher(1).await);
    let mut messages = Vec::new();
    for chat in 1..=8 {
        messages.push(world.say(chat, &format!("first {chat}")).await);
        messages.push(world.say(chat, &format!("second {chat}")).await);
    }
    let mut ends = Vec::new();
    for message in messages {
        ends.push(world.settled(message).await);
    }
    let end = |chat: usize, nth: usize| {
        (
            ends[(chat - 1) * 2 + nth].0.as_str(),
            ends[(chat - 1) * 2 + nth].1,
        )
    };
    assert_eq!(end(1, 0), ("delivered", 2), "transient: retried");
    assert_eq!(end(2, 0), ("delivered", 1), "a hint burns no attempt");
    assert_eq!(end(3, 0), ("undeliverable", 1));
    assert_eq!(end(4, 0), ("rejected", 1), "S9: never retried");
    assert_eq!(end(5, 0), ("delivered", 2), "unknown, resent");
    assert_eq!(
        end(6, 0),
        ("dead_lettered", 4),
        "the interactive profile's attempts"
    );
    assert_eq!(end(7, 0), ("delivered", 1));
    assert_eq!(end(8, 0), ("delivered", 1), "a migration burns no attempt");
    for chat in [1, 2, 5, 7] {
        assert_eq!(
            world.texts(chat),
            [format!("first {chat}"), format!("second {chat}")],
            "S23: in order"
        );
    }
    assert_eq!(
        world.texts(-1_001_557_912_345),
        ["first 8", "second 8"],
        "S8"
    );
    assert_eq!(world.calls(6).len(), 8, "both messages, four attempts each");
    let reason = &ends[(4 - 1) * 2].2;
    assert!(reason.contains("can't parse entities"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_message_is_settled_without_a_call() {
    let world = World::new().await;
    let (_relay, _dispatcher) = (world.relay().await, world.dispatcher(1).await);
    let late = world
        .publish(1, r#"{"text": "late"}"#, "now() - interval '1 second'")
        .await;
    let fresh = world
        .publish(1, r#"{"text": "fresh"}"#, "now() + interval '1 hour'")
        .await;
    assert_eq!(world.settled(late).await.0, "expired");
    assert_eq!(world.settled(fresh).await.0, "delivered");
    assert_eq!(world.calls(1).len(), 1);
    assert_eq!(world.texts(1), ["fresh"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_nobody_configured_is_a_dead_letter_with_its_remedy() {
    let world = World::new().await;
    let (_relay, _dispatcher) = (world.relay().await, world.dispatcher(1).await);
    let row = world
        .upstream
        .query_one(
            "select tidings.publish('notification.requested', 1, '{\"text\":\"x\"}', 'greeting', '1',
                '{\"platform\":\"telegram\",\"account\":\"nobody\",\"chat_id\":\"1\"}')",
            &[],
        )
        .await
        .unwrap();
    let (state, _, reason) = world.settled(row.get(0)).await;
    assert_eq!(state, "rejected");
    assert!(
        reason.contains("telegram:nobody") && reason.contains("configured"),
        "{reason}"
    );
}
