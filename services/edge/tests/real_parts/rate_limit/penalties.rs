use std::time::Duration;

use tidings_edge::config::Config;
use tidings_edge::postgres;
use tidings_edge::rate_limit::{Operation, PenaltyStore, Target};

use super::super::migrated;
use super::worker::Worker;
use super::{SCOPE, prepared, recreate};

const HOUR: Duration = Duration::from_secs(3_600);

fn account() -> Target {
    Target::Account {
        scope: SCOPE.into(),
    }
}

fn chat(chat: &str) -> Target {
    Target::Chat {
        scope: SCOPE.into(),
        chat: chat.into(),
    }
}

fn store(config: &Config) -> PenaltyStore {
    PenaltyStore::new(postgres::pool(&config.state, "edge-test", 1).unwrap())
}

/// How long each target is still held, as the database has it.
async fn kept(store: &PenaltyStore) -> Vec<(Target, Duration)> {
    let kept = store.read().await.unwrap().into_iter();
    kept.map(|penalty| (penalty.target, penalty.remaining))
        .collect()
}

#[tokio::test]
async fn a_long_penalty_outlives_every_worker_and_the_log() {
    let config = prepared("limit_penalty").await;
    let store = store(&config);
    let mut first = Worker::start(&config).await;
    first.send(1).await;
    first
        .limits
        .throttled(account(), HOUR, "Too Many Requests: retry after 3600");
    // A stop writes what waits to be written.
    first.stop().await;
    let written = kept(&store).await;
    assert_eq!(written.len(), 1);
    assert_eq!(written[0].0, account());
    recreate(&config).await;

    let mut second = Worker::start(&config).await;
    second.want(1);
    let held = |worker: &Worker| {
        worker
            .limits
            .view()
            .holds
            .iter()
            .any(|view| view.target == account())
    };
    second.until(held).await;
    assert!(second.started.is_empty());
    let view = second.limits.view();
    let left = view.time.until(view.holds[0].hold.until);
    assert!(left > HOUR / 2 && left <= HOUR, "{left:?}");

    let operated = second.limits.operate(Operation::Reset {
        target: account(),
        operator: "tester".into(),
        reason: "the platform lifted it".into(),
    });
    assert!(operated.recorded(Duration::from_secs(60)).await);
    second.finish().await;
    second.stop().await;
    assert!(kept(&store).await.is_empty());
}

#[tokio::test]
async fn of_two_penalties_of_a_target_the_later_end_is_kept() {
    let config = super::super::config("limit_later_end").await;
    let client = migrated(&config).await;
    let store = store(&config);
    for (hours, expected) in [(2, 2), (1, 2), (3, 3)] {
        let id = client
            .query_one("SELECT gen_random_uuid()", &[])
            .await
            .unwrap()
            .get(0);
        store.keep(id, &account(), HOUR * hours).await.unwrap();
        let kept = kept(&store).await;
        assert!(kept[0].1 > HOUR * expected - HOUR / 2, "{kept:?}");
        assert!(kept[0].1 <= HOUR * expected, "{kept:?}");
    }
    // Beyond what a timestamp holds.
    let id = client
        .query_one("SELECT gen_random_uuid()", &[])
        .await
        .unwrap()
        .get(0);
    store.keep(id, &chat("-100"), Duration::MAX).await.unwrap();
    assert_eq!(kept(&store).await.len(), 2);
}

#[tokio::test]
async fn a_reset_forgets_what_it_names() {
    let config = super::super::config("limit_forget").await;
    let client = migrated(&config).await;
    let store = store(&config);
    let address = Target::Address {
        platform: "telegram".into(),
    };
    let unnamed = Target::Unnamed {
        scope: SCOPE.into(),
        chat: "2".into(),
    };
    for target in [account(), chat("1"), unnamed, address.clone()] {
        let id = client
            .query_one("SELECT gen_random_uuid()", &[])
            .await
            .unwrap()
            .get(0);
        store.keep(id, &target, HOUR).await.unwrap();
    }
    assert_eq!(store.forget(&chat("2")).await.unwrap(), 1);
    assert_eq!(store.forget(&account()).await.unwrap(), 2);
    let left: Vec<Target> = kept(&store)
        .await
        .into_iter()
        .map(|(target, _)| target)
        .collect();
    assert_eq!(left, std::slice::from_ref(&address));
    assert_eq!(store.forget(&address).await.unwrap(), 1);
}

#[tokio::test]
async fn a_penalty_that_ended_is_not_read_and_goes() {
    let config = super::super::config("limit_ended").await;
    let client = migrated(&config).await;
    let store = store(&config);
    let id = client
        .query_one("SELECT gen_random_uuid()", &[])
        .await
        .unwrap()
        .get(0);
    store.keep(id, &account(), HOUR).await.unwrap();
    let end = "UPDATE tidings_delivery.penalties SET ends_at = clock_timestamp()";
    client.batch_execute(end).await.unwrap();
    assert!(kept(&store).await.is_empty());
    let count = "SELECT count(*) FROM tidings_delivery.penalties";
    let rows: i64 = client.query_one(count, &[]).await.unwrap().get(0);
    assert_eq!(rows, 0);
}
