use tidings_edge::config::LimitsProposal;
use tidings_edge::rate_limit::{Mode, Operation, ScopeLimits};

use super::worker::{Worker, most_in_a_second};
use super::{PER_SECOND, SCOPE, prepared, propose};

/// The limits in force, as this worker has read them.
fn limits(worker: &Worker) -> Option<ScopeLimits> {
    let scopes = worker.limits.view().scopes;
    scopes
        .into_iter()
        .find(|scope| scope.scope == SCOPE)
        .map(|scope| scope.limits)
}

#[tokio::test]
async fn two_clients_share_one_scope_and_use_it() {
    let config = prepared("limit_shared").await;
    let mut first = Worker::start(&config).await;
    let mut second = Worker::start(&config).await;
    tokio::join!(first.send(60), second.send(60));
    assert_eq!((first.started.len(), second.started.len()), (60, 60));
    assert!(most_in_a_second(&[&first, &second]) <= PER_SECOND);
    assert_eq!(first.limits.view().log_id, second.limits.view().log_id);
    first.stop().await;
    second.stop().await;
}

#[tokio::test]
async fn a_late_client_goes_on_from_the_log_and_its_configuration_changes_nothing() {
    let mut config = prepared("limit_late").await;
    let mut first = Worker::start(&config).await;
    first.send(40).await;
    let faster = LimitsProposal {
        exact: Some(false),
        account: vec!["1000/1s".parse().unwrap()],
        ..LimitsProposal::default()
    };
    propose(&mut config, faster);
    let mut late = Worker::start(&config).await;
    tokio::join!(first.send(40), late.send(40));
    assert!(most_in_a_second(&[&first, &late]) <= PER_SECOND);
    assert_eq!(first.limits.view().log_id, late.limits.view().log_id);
    assert_eq!(limits(&late), limits(&first));
    first.stop().await;
    late.stop().await;
}

#[tokio::test]
async fn an_operators_limits_are_in_force_once_they_are_read() {
    let config = prepared("limit_set").await;
    let mut worker = Worker::start(&config).await;
    worker.send(1).await;
    let wanted = LimitsProposal {
        exact: Some(false),
        account: vec!["10/1s".parse().unwrap()],
        ..LimitsProposal::default()
    };
    let wanted = wanted.scope_limits("telegram").unwrap();
    let operated = worker.limits.operate(Operation::SetLimits {
        scope: SCOPE.into(),
        limits: wanted.clone(),
        operator: "tester".into(),
        reason: "a slower platform".into(),
    });
    assert!(operated.recorded(std::time::Duration::from_secs(60)).await);
    assert_eq!(limits(&worker), Some(wanted));
    let before = worker.started.len();
    worker.send(25).await;
    let after = worker.started.split_off(before);
    worker.started = after;
    assert!(most_in_a_second(&[&worker]) <= 10);
    assert!(worker.modes.ends_with(&[Mode::Live]), "{:?}", worker.modes);
    worker.stop().await;
}
