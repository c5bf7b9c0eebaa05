//! The load program on a real PostgreSQL, through what happens to its connections.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use support::gate::Gate;
use support::proxy::{Cut, Proxy};
use support::{Upstream, options};
use tidings_load::{LoadError, LoadOptions, run};

#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_is_exactly_what_was_committed() {
    let upstream = Upstream::start().await;
    let report = run(options(&upstream.url), |_| {}).await.unwrap();
    assert_eq!(report.orders, 60);
    assert!(report.rolled_back > 0 && report.held_open > 0, "{report:?}");
    let ledger = upstream.count("load.ledger").await;
    assert_eq!(ledger, report.committed_events);
    upstream.assert_ledger_equals_outbox().await;
    let commits = upstream.count("load.commits").await;
    assert_eq!(commits, report.committed_transactions);
    let shipped = "load.orders where status = 'shipped'";
    assert_eq!(upstream.count(shipped).await, 60);
    upstream
        .assert_none("load.rolled_back r join tidings.outbox o using (message_id)")
        .await;
    assert!(upstream.count("load.rolled_back").await >= report.rolled_back);
}

#[tokio::test(flavor = "multi_thread")]
async fn held_transactions_commit_after_later_inserts() {
    let upstream = Upstream::start().await;
    let all_held = LoadOptions {
        inverted_share: 1.0,
        rollback_share: 0.0,
        ..options(&upstream.url)
    };
    let report = run(all_held, |_| {}).await.unwrap();
    assert!(report.held_open >= 15, "{report:?}");
    // The held order has the lower outbox id, and commits after one that has a higher id.
    let inverted = "load.ledger a join load.commits ca using (run, tx) join tidings.outbox oa using (message_id)
        join load.ledger b on b.chat = a.chat and b.tx <> a.tx
        join load.commits cb on cb.run = b.run and cb.tx = b.tx
        join tidings.outbox ob on ob.message_id = b.message_id
        where oa.id < ob.id and ca.committed_at > cb.committed_at";
    assert!(upstream.count(inverted).await >= report.held_open);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_never_claims_an_order_that_was_not() {
    let upstream = Upstream::start().await;
    run(options(&upstream.url), |_| {}).await.unwrap();
    // Its moment lies before the outbox row's own, and after the commit of nothing that follows.
    upstream
        .assert_none(
            "load.ledger l join tidings.outbox o using (message_id) where l.inserted_at > o.recorded_at",
        )
        .await;
    upstream
        .assert_none("load.ledger l join load.commits c using (run, tx) where c.committed_at <= l.inserted_at")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn locked_chats_have_a_total_order() {
    let upstream = Upstream::start().await;
    let locked = LoadOptions {
        lock_chat: true,
        inverted_share: 0.0,
        chats: 2,
        ..options(&upstream.url)
    };
    run(locked, |_| {}).await.unwrap();
    upstream
        .assert_none("load.ledger where lock_ordinal is null")
        .await;
    upstream
        .assert_none(
            "load.ledger a join tidings.outbox oa using (message_id)
             join load.ledger b on b.chat = a.chat join tidings.outbox ob on ob.message_id = b.message_id
             where a.lock_ordinal < b.lock_ordinal and oa.id > ob.id",
        )
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_events_are_marked() {
    let upstream = Upstream::start().await;
    let bad = LoadOptions {
        bad_share: 0.5,
        ..options(&upstream.url)
    };
    let report = run(bad, |_| {}).await.unwrap();
    let expected = "load.ledger where expect = 'rejected'";
    assert_eq!(upstream.count(expected).await, report.bad_events);
    assert!(report.bad_events > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_seed_makes_the_same_orders_in_another_run() {
    let upstream = Upstream::start().await;
    let once = |run: &str| LoadOptions {
        run: run.to_owned(),
        inverted_share: 0.0,
        ..options(&upstream.url)
    };
    run(once("first"), |_| {}).await.unwrap();
    run(once("second"), |_| {}).await.unwrap();
    let of = |run: &str| {
        format!(
            "select chat, event_type, lane, right(marker, 6) from load.ledger where run = '{run}'"
        )
    };
    let (first, second) = (of("first"), of("second"));
    upstream
        .assert_none(&format!("({first} except all {second}) as difference"))
        .await;
    assert!(upstream.count(&format!("({second}) as rows")).await > 120);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_postgres_loses_and_doubles_nothing() {
    let upstream = Upstream::start().await;
    let gate = Gate::default();
    let at_gate = gate.clone();
    let load = tokio::spawn(run(options(&upstream.url), move |progress| {
        if progress.orders >= 20 {
            at_gate.pass();
        }
    }));
    gate.awaited().await;
    upstream.kill_and_start_again().await;
    gate.open();
    let report = load.await.unwrap().unwrap();
    assert!(report.reconnects > 0, "{report:?}");
    assert_eq!(report.orders, 60);
    assert_eq!(upstream.count("load.ledger").await, report.committed_events);
    upstream.assert_ledger_equals_outbox().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_answer_was_lost_is_found() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::before(&upstream, Cut::AfterCommit).await;
    let report = run(options(&proxy.url), |_| {}).await.unwrap();
    assert!(report.commits_found > 0, "{report:?}");
    assert_eq!(report.commits_repeated, 0);
    assert_eq!(upstream.count("load.ledger").await, report.committed_events);
    upstream.assert_ledger_equals_outbox().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_never_arrived_is_repeated() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::before(&upstream, Cut::BeforeCommit).await;
    let report = run(options(&proxy.url), |_| {}).await.unwrap();
    assert!(report.commits_repeated > 0, "{report:?}");
    assert_eq!(report.commits_found, 0);
    assert_eq!(upstream.count("load.ledger").await, report.committed_events);
    upstream.assert_ledger_equals_outbox().await;
    upstream
        .assert_none("load.rolled_back r join load.ledger l using (message_id)")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_outbox_is_named() {
    let upstream = Upstream::empty().await;
    let error = run(options(&upstream.url), |_| {}).await.unwrap_err();
    assert!(matches!(error, LoadError::NoOutbox(_)), "{error:?}");
    assert!(error.to_string().contains("001_outbox.sql"));
}
