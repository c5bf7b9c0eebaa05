//! Late commits: nothing skipped, the order of design §6 kept (reference/cases.md, R1, R8). There are no safety
//! passes here, so the cursor alone has to find late rows.

use uuid::Uuid;

use crate::support::{World, notify, of_chat};

const LANE: &str = "telegram.normal";

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_commits_after_higher_ids_is_not_skipped() {
    let world = World::new().await;
    let relay = world.start_relay();
    let (early, late) = (world.service().await, world.service().await);
    late.batch_execute("begin").await.unwrap();
    let low_id = notify(&late, "1", "low id").await;
    let high_id = notify(&early, "2", "high id").await;
    world.until_arrived(LANE, &[high_id]).await;
    late.batch_execute("commit").await.unwrap();
    world.until_arrived(LANE, &[low_id]).await;
    world.until_drained().await;
    relay.stop().await;
}

/// The late transaction is the younger one, and its row the older.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_row_of_a_younger_transaction_is_not_overtaken() {
    let world = World::new().await;
    let relay = world.start_relay();
    let (older, younger) = (world.service().await, world.service().await);
    older
        .batch_execute("begin; select pg_current_xact_id()")
        .await
        .unwrap();
    younger.batch_execute("begin").await.unwrap();
    let first = notify(&younger, "1", "low id, high transaction id").await;
    let beside = notify(&older, "1", "high id, low transaction id").await;
    older.batch_execute("commit").await.unwrap();
    world.until_arrived(LANE, &[beside]).await;
    younger.batch_execute("commit").await.unwrap();
    let second = notify(&older, "1", "after the commit").await;
    let arrived = world.until_arrived(LANE, &[first, second]).await;
    assert_eq!(of_chat(&arrived, "1"), [beside, first, second]);
    relay.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_held_transaction_a_chat_keeps_its_order() {
    let world = World::new().await;
    let relay = world.start_relay();
    let (holder, service) = (world.service().await, world.service().await);
    holder.batch_execute("begin").await.unwrap();
    let held = notify(&holder, "1", "held").await;
    let mut expected: Vec<Uuid> = Vec::new();
    for text in ["a", "b", "c", "d"].repeat(25) {
        expected.push(notify(&service, "1", text).await);
    }
    let arrived = world.until_arrived(LANE, &expected).await;
    assert_eq!(of_chat(&arrived, "1"), expected);
    holder.batch_execute("commit").await.unwrap();
    let last = notify(&service, "1", "after the held one").await;
    expected.extend([held, last]);
    let arrived = world.until_arrived(LANE, &expected).await;
    assert_eq!(of_chat(&arrived, "1"), expected);
    relay.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolled_back_event_never_arrives() {
    let world = World::new().await;
    let relay = world.start_relay();
    let service = world.service().await;
    service.batch_execute("begin").await.unwrap();
    let undone = notify(&service, "1", "undone").await;
    service.batch_execute("rollback").await.unwrap();
    let done = notify(&service, "1", "done").await;
    let arrived = world.until_arrived(LANE, &[done]).await;
    assert!(!arrived.iter().any(|record| record.id == undone));
    relay.stop().await;
}

/// An option of `publish`: transactions of one chat wait for each other, so overlapping ones have an order too.
#[tokio::test(flavor = "multi_thread")]
async fn with_the_chat_locked_overlapping_transactions_have_an_order() {
    let world = World::new().await;
    let relay = world.start_relay();
    let (first, second) = (world.service().await, world.service().await);
    for session in [&first, &second] {
        session
            .batch_execute("begin; set tidings.lock_chat = on; select pg_current_xact_id()")
            .await
            .unwrap();
    }
    let a = notify(&first, "1", "a").await;
    let waiting = notify(&second, "1", "b");
    let (b, ()) = tokio::join!(waiting, async {
        first.batch_execute("commit").await.unwrap()
    });
    second.batch_execute("commit").await.unwrap();
    let arrived = world.until_arrived(LANE, &[a, b]).await;
    assert_eq!(of_chat(&arrived, "1"), [a, b]);
    relay.stop().await;
}
