//! When an existing topic fits what Tidings needs (design §4).

use super::topic_specs::TopicSpec;
use super::topic_view::Settings;

/// What does not fit about one topic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("topic {topic}: {what} is {found}, expected {expected}; {remedy}")]
pub struct TopicProblem {
    /// The topic.
    pub topic: String,
    /// The setting, by Kafka's name, or `partitions`.
    pub what: String,
    /// What the cluster has.
    pub found: String,
    /// What the configuration asks for.
    pub expected: String,
    /// What to do.
    pub remedy: String,
}

/// Settings without which a promise breaks. The others are advice to whoever creates the topic.
const RELIED_ON: [&str; 5] = [
    "cleanup.policy",
    "retention.ms",
    "max.message.bytes",
    "message.timestamp.type",
    "unclean.leader.election.enable",
];

/// The problem of a topic that is not there.
pub(super) fn missing_problem(spec: &TopicSpec) -> TopicProblem {
    TopicProblem {
        topic: spec.name.clone(),
        what: "the topic".into(),
        found: "missing".into(),
        expected: format!("{} partition(s)", spec.partitions),
        remedy: "run `tidings topics apply`".into(),
    }
}

/// The problem of another partition count.
pub(super) fn partition_problem(spec: &TopicSpec, found: u32) -> Option<TopicProblem> {
    (found != spec.partitions).then(|| TopicProblem {
        topic: spec.name.clone(),
        what: "partitions".into(),
        found: found.to_string(),
        expected: spec.partitions.to_string(),
        remedy: "of lanes and streams: set kafka.partitions to what the topic has, or grow it: pause relays, drain lanes \
                 and deferred chats, grow, resume (growing moves keys, so it is never done silently); of others: \
                 recreate the topic while no role runs"
            .into(),
    })
}

/// The problems of the settings that Tidings relies on.
pub(super) fn setting_problems(spec: &TopicSpec, found: &Settings) -> Vec<TopicProblem> {
    let required = spec
        .config
        .iter()
        .filter(|(key, _)| RELIED_ON.contains(key));
    required
        .filter_map(|(key, expected)| {
            // A setting that the cluster does not show cannot be relied on.
            let value = found.get(*key).map_or("(not shown)", String::as_str);
            (!fits(key, expected, value)).then(|| setting_problem(spec, key, expected, value))
        })
        .collect()
}

/// The problem of a topic that wants more copies in sync than it has: with `acks=all` no record is ever acknowledged.
pub(super) fn replica_problem(
    spec: &TopicSpec,
    replicas: u32,
    found: &Settings,
) -> Option<TopicProblem> {
    let in_sync: u32 = found.get("min.insync.replicas")?.parse().ok()?;
    (in_sync > replicas).then(|| TopicProblem {
        topic: spec.name.clone(),
        what: "min.insync.replicas".into(),
        found: in_sync.to_string(),
        expected: format!("at most {replicas}, the copies it has"),
        remedy: format!(
            "kafka-configs.sh --alter --entity-type topics --entity-name {} --add-config min.insync.replicas={}, or give the topic more copies",
            spec.name,
            replicas.max(1)
        ),
    })
}

/// A larger record limit does no harm. A longer retention would: records would outlive the claims that
/// recognise them (design §7); a shorter one loses them early.
fn fits(key: &str, expected: &str, found: &str) -> bool {
    if key != "max.message.bytes" {
        return expected == found;
    }
    match (expected.parse::<u64>(), found.parse::<u64>()) {
        (Ok(expected), Ok(found)) => found >= expected,
        (Ok(_) | Err(_), _) => false,
    }
}

fn setting_problem(spec: &TopicSpec, key: &str, expected: &str, found: &str) -> TopicProblem {
    TopicProblem {
        topic: spec.name.clone(),
        what: key.to_owned(),
        found: found.to_owned(),
        expected: expected.to_owned(),
        remedy: format!(
            "kafka-configs.sh --alter --entity-type topics --entity-name {} --add-config {key}={expected}, or change the configuration",
            spec.name
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::kafka::specs;

    fn dead_letters() -> TopicSpec {
        let all = specs(&Config::defaults().unwrap());
        all.into_iter()
            .find(|spec| spec.name == "tidings.telegram.dead-letter")
            .unwrap()
    }

    fn settings_of(spec: &TopicSpec) -> Settings {
        let pairs = spec.config.iter();
        pairs
            .map(|(key, value)| ((*key).to_owned(), value.clone()))
            .collect()
    }

    #[test]
    fn a_topic_made_from_its_spec_fits() {
        let spec = dead_letters();
        assert_eq!(partition_problem(&spec, 12), None);
        assert!(setting_problems(&spec, &settings_of(&spec)).is_empty());
    }

    #[test]
    fn another_partition_count_is_refused_with_the_way_to_grow() {
        let problem = partition_problem(&dead_letters(), 6).unwrap();
        assert!(problem.to_string().contains("partitions is 6, expected 12"));
        assert!(problem.remedy.contains("drain lanes"));
    }

    #[test]
    fn a_smaller_record_limit_is_a_problem_and_a_larger_one_is_not() {
        let spec = dead_letters();
        for (bytes, problems) in [("1048576", 1), ("1114112", 0), ("9999999", 0), ("x", 1)] {
            let mut found = settings_of(&spec);
            found.insert("max.message.bytes".into(), bytes.into());
            assert_eq!(setting_problems(&spec, &found).len(), problems, "{bytes}");
        }
    }

    #[test]
    fn more_copies_in_sync_than_there_are_is_a_problem() {
        let spec = dead_letters();
        let mut found = settings_of(&spec);
        found.insert("min.insync.replicas".into(), "2".into());
        assert_eq!(replica_problem(&spec, 2, &found), None);
        let problem = replica_problem(&spec, 1, &found).unwrap();
        assert!(
            problem.remedy.contains("min.insync.replicas=1"),
            "{problem}"
        );
    }

    #[test]
    fn another_timestamp_type_is_a_problem() {
        let spec = dead_letters();
        let mut found = settings_of(&spec);
        found.insert("message.timestamp.type".into(), "LogAppendTime".into());
        let problems = setting_problems(&spec, &found);
        assert_eq!(problems[0].what, "message.timestamp.type");
    }
}
