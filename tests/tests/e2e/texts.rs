//! What upstream writes and what a person reads.

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn characters_that_no_text_has_never_fail_upstream_and_are_shown_as_replacement() {
    let world = World::new().await;
    let (_relay, _dispatcher) = (world.relay().await, world.dispatcher(1).await);
    let data = r#"{"text": "nul \u0000 lone \ud83d high, \ude00 low, pair \ud83d\ude00, backslash \\u0000"}"#;
    let message = world.publish(7, data, "default").await;
    assert_eq!(world.settled(message).await.0, "delivered");
    assert_eq!(
        world.texts(7),
        ["nul \u{FFFD} lone \u{FFFD} high, \u{FFFD} low, pair 😀, backslash \\u0000"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_json_is_a_clear_error_in_upstreams_own_insert() {
    let world = World::new().await;
    let refused = world
        .upstream
        .query_one(
            "select tidings.publish('notification.requested', 1, $1::text::json, 'greeting', '1',
                '{\"platform\":\"telegram\",\"chat_id\":\"1\"}')",
            &[&r#"{"text": "#],
        )
        .await
        .unwrap_err();
    let words = refused.as_db_error().unwrap();
    assert_eq!(words.message(), "invalid input syntax for type json");
    assert!(
        words.detail().unwrap().contains("ended unexpectedly"),
        "{words:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn parse_mode_and_thread_reach_the_platform() {
    let world = World::new().await;
    let (_relay, _dispatcher) = (world.relay().await, world.dispatcher(1).await);
    let row = world
        .upstream
        .query_one(
            "select tidings.publish('notification.requested', 1, '{\"text\":\"<b>x</b>\",\"parse_mode\":\"HTML\"}', 'greeting', '1',
                '{\"platform\":\"telegram\",\"chat_id\":\"-1001087453541\",\"thread_id\":\"9\"}')",
            &[],
        )
        .await
        .unwrap();
    assert_eq!(world.settled(row.get(0)).await.0, "delivered");
    let posts = world.posts(-1_001_087_453_541);
    assert_eq!(posts[0].parse_mode.as_deref(), Some("HTML"));
    assert_eq!(posts[0].thread_id.as_deref(), Some("9"));
}
