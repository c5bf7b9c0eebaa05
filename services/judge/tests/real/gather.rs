//! The evidence, read from a real PostgreSQL and a real Kafka.

use std::time::Duration;

use crate::world::World;
use tidings_judge::evidence::{Rest, Scope};
use tidings_judge::gather::{SimulatorLog, Wait};
use tidings_judge::{GatherError, gather};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_fault_passes() {
    let world = World::delivered().await;
    let report = world.judge().await;
    assert!(report.passed(), "{}", report.table());
    assert_eq!(report.rest, Rest::Reached);
    assert!(report.counts.rejected_by_relay > 0);
    assert!(report.counts.rolled_back > 0);
    let counts = report.counts;
    assert_eq!(
        counts.committed,
        counts.delivered + counts.rejected_by_relay
    );
    assert_eq!(counts.calls, counts.delivered);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_nowhere_is_lost() {
    let world = World::delivered().await;
    let message = world.some_message().await;
    world.forget(message).await;
    let report = world.judge().await;
    assert_eq!(report.failures(), ["lost"]);
    assert!(report.table().contains(&message.to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_in_a_lane_is_unresolved() {
    let world = World::delivered().await;
    let message = world.some_message().await;
    world.forget(message).await;
    world.produce("normal", message).await;
    let report = world.judge().await;
    assert_eq!(report.failures(), ["unresolved", "rest"]);
    assert_eq!(report.rest, Rest::Stalled);
    assert_eq!(report.counts.lag, 2, "the record, and one without an id");
}

/// The record of a message that has its end, behind a watermark that stands still.
#[tokio::test(flavor = "multi_thread")]
async fn lanes_that_are_not_read_to_their_end_break_the_promise() {
    let world = World::delivered().await;
    world.produce("normal", world.some_message().await).await;
    let report = world.judge().await;
    assert_eq!(report.failures(), ["rest"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_is_looked_for_in_its_topic() {
    let mut world = World::delivered().await;
    world.inputs.require_delivery = false;
    let message = world.some_message().await;
    world.settle(message, "dead_lettered").await;
    assert_eq!(world.judge().await.failures(), ["missing_dead_letters"]);
    world.produce("dead-letter", message).await;
    let report = world.judge().await;
    assert!(report.passed(), "{}", report.table());
    assert_eq!(report.counts.dead_letter_records, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wait_ends_when_the_last_claim_is_settled() {
    let mut world = World::delivered().await;
    world.inputs.wait = Some(Wait {
        quiet: Duration::from_secs(60),
        longest: Duration::from_secs(60),
    });
    let message = world.some_message().await;
    let reopen = "update tidings_delivery.claims set state = 'claimed', settled_at = null where message_id = $1";
    world.state.execute(reopen, &[&message]).await.unwrap();
    let inputs = world.inputs.clone();
    let judge = tokio::spawn(async move { gather(&inputs).await });
    let close = "update tidings_delivery.claims set state = 'delivered', settled_at = now() where message_id = $1";
    world.state.execute(close, &[&message]).await.unwrap();
    let evidence = judge.await.unwrap().unwrap();
    assert_eq!(evidence.rest, Rest::Reached);
    assert!(tidings_judge::decide(&evidence).passed());
}

#[tokio::test(flavor = "multi_thread")]
async fn another_run_is_not_judged() {
    let mut world = World::delivered().await;
    let message = world.some_message().await;
    world.forget(message).await;
    world.inputs.scope = Scope::Run("another".to_owned());
    assert_eq!(world.judge().await.failures(), ["committed"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_fetched_from_the_simulator() {
    let mut world = World::delivered().await;
    let SimulatorLog::File(file) = world.inputs.simulator.clone() else {
        panic!("expected a file");
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        let read = stream.read(&mut request).await.unwrap();
        assert!(request[..read].starts_with(b"GET /sim/log "));
        let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        let log = std::fs::read(file).unwrap();
        stream.write_all(&log).await.unwrap();
    });
    world.inputs.simulator = SimulatorLog::Url(base);
    assert!(world.judge().await.passed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_table_is_named_with_its_remedy() {
    let mut world = World::delivered().await;
    world.inputs.wait = None;
    world
        .state
        .batch_execute("drop schema tidings_delivery cascade")
        .await
        .unwrap();
    let error = gather(&world.inputs).await.unwrap_err();
    assert!(matches!(
        error,
        GatherError::MissingTable {
            database: "state",
            ..
        }
    ));
    assert!(error.to_string().contains("--state"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_state_is_an_error_and_no_guess() {
    let world = World::delivered().await;
    let sql = "alter table tidings_delivery.claims drop constraint claims_state;
        update tidings_delivery.claims set state = 'mislaid'";
    world.state.batch_execute(sql).await.unwrap();
    let error = gather(&world.inputs).await.unwrap_err();
    assert!(matches!(error, GatherError::Row { .. }), "{error}");
}
