use super::*;
use crate::doctor::Health;

fn cluster(brokers: usize, settings: &[(&str, &str)], requests: &[i16]) -> Cluster {
    let all: Vec<(i16, i16)> = NEEDED
        .iter()
        .map(|&(request, version, _)| (request, version))
        .chain(requests.iter().map(|&request| (request, 0)))
        .collect();
    Cluster {
        brokers,
        settings: settings
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
        api_versions: Some(all.into_iter().collect()),
    }
}

/// Health and key of what is not well.
fn bad(change: impl FnOnce(&mut Config), cluster: &Cluster) -> Vec<(Health, String)> {
    let mut config = Config::defaults().unwrap();
    change(&mut config);
    let findings = judge(&config, cluster).into_iter();
    findings
        .filter(|finding| finding.health != Health::Ok)
        .map(|finding| (finding.health, finding.key))
        .collect()
}

#[test]
fn one_broker_with_one_copy_is_well() {
    assert!(bad(|_| (), &cluster(1, &[], &[])).is_empty());
}

#[test]
fn copies_must_suit_the_number_of_brokers() {
    let key = "kafka.replication_factor".to_owned();
    let one_copy = bad(|_| (), &cluster(3, &[], &[]));
    assert_eq!(one_copy, [(Health::Warning, key.clone())]);
    let too_many = bad(|c| c.kafka.replication_factor = 3, &cluster(1, &[], &[]));
    assert_eq!(too_many, [(Health::Problem, key)]);
}

#[test]
fn a_session_outside_of_the_brokers_bounds_is_a_problem() {
    let bounds = [
        ("group.min.session.timeout.ms", "6000"),
        ("group.max.session.timeout.ms", "1800000"),
    ];
    let change = |c: &mut Config| c.kafka.session_timeout = Duration::from_secs(2);
    let found = bad(change, &cluster(1, &bounds, &[]));
    assert_eq!(
        found,
        [(Health::Problem, "kafka.session_timeout".to_owned())]
    );
    assert!(bad(|_| (), &cluster(1, &bounds, &[])).is_empty());
}

#[test]
fn the_new_group_protocol_needs_a_broker_that_knows_it() {
    let change = |c: &mut Config| c.kafka.group_protocol = GroupProtocol::Consumer;
    let found = bad(change, &cluster(1, &[], &[]));
    assert_eq!(
        found,
        [(Health::Problem, "kafka.group_protocol".to_owned())]
    );
    assert!(bad(change, &cluster(1, &[], &[CONSUMER_GROUP_HEARTBEAT])).is_empty());
    let mut told_by_setting = cluster(
        1,
        &[("group.coordinator.rebalance.protocols", "classic,consumer")],
        &[],
    );
    told_by_setting.api_versions = None;
    assert!(bad(change, &told_by_setting).is_empty());
    told_by_setting.settings.clear();
    assert_eq!(bad(change, &told_by_setting)[0].0, Health::Warning);
}

#[test]
fn an_old_broker_and_auto_creation_are_told() {
    let mut old = cluster(1, &[("auto.create.topics.enable", "true")], &[]);
    old.api_versions = Some([(0, 2)].into());
    let keys: Vec<String> = bad(|_| (), &old).into_iter().map(|(_, key)| key).collect();
    assert_eq!(keys, ["kafka.brokers", "auto.create.topics.enable"]);
}
