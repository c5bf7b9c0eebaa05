//! The topics: that they are there and fit, and that claims outlive what they really keep.

use std::time::Duration;

use super::{Finding, words};
use crate::config::Config;
use crate::kafka::{self, Lane, TopicView, TopicsError};

pub(super) const CHECK: &str = "topics";

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    match kafka::inspect(config).await {
        Ok(views) => {
            let mut findings = judge_fit(&views);
            findings.extend(judge_retention(config, &views));
            findings
        }
        Err(error) => vec![no_answer(&error)],
    }
}

fn no_answer(error: &TopicsError) -> Finding {
    Finding::problem(
        CHECK,
        "kafka.brokers",
        words(error),
        "check that the brokers run and are reached from here, and that this user may describe topics and their settings",
    )
}

fn judge_fit(views: &[TopicView]) -> Vec<Finding> {
    let problems = views.iter().flat_map(TopicView::problems);
    let findings: Vec<Finding> = problems
        .map(|problem| {
            Finding::problem(
                CHECK,
                format!("{} {}", problem.topic, problem.what),
                format!("{}, expected {}", problem.found, problem.expected),
                problem.remedy,
            )
        })
        .collect();
    match findings.as_slice() {
        [] => vec![Finding::ok(
            CHECK,
            format!("{} topics, all as configured", views.len()),
        )],
        [..] => findings,
    }
}

const DAY: Duration = Duration::from_secs(86_400);

/// Claims must outlive the records that they recognise by a day (design §7): by what the topics have, whatever the
/// configuration says of them.
fn judge_retention(config: &Config, views: &[TopicView]) -> Option<Finding> {
    let kafka = &config.kafka;
    let platforms = config.dispatcher.platforms.iter();
    let read_back: Vec<String> = platforms
        .flat_map(|platform| {
            let lanes = Lane::ALL.map(|lane| kafka::lane_topic(kafka, platform, lane));
            lanes
                .into_iter()
                .chain([kafka::dead_letter_topic(kafka, platform)])
        })
        .collect();
    let present = views
        .iter()
        .filter(|view| view.present.is_some() && read_back.contains(&view.spec.name));
    // `None`, for ever, is the longest.
    let (longest, topic) = present
        .map(|view| (view.retention().unwrap_or(Duration::MAX), &view.spec.name))
        .max()?;
    let kept = DAY * config.dispatcher.dedupe_retention_days;
    // Up to the configured retention it is the configuration's own rule that says so.
    let configured = kafka.lane_retention.max(kafka.dead_letter_retention);
    if longest.saturating_add(DAY) <= kept || longest <= configured {
        return None;
    }
    let keeps = match longest {
        Duration::MAX => "records for ever".to_owned(),
        days => format!(
            "records for {:.1} days",
            days.as_secs_f64() / DAY.as_secs_f64()
        ),
    };
    Some(Finding::problem(
        "dedupe retention",
        "dispatcher.dedupe_retention_days",
        format!(
            "{}, while {topic} keeps {keeps}: an old record that is read again would be sent again",
            config.dispatcher.dedupe_retention_days
        ),
        "shorten the topic's retention.ms to the configured one, or raise dedupe_retention_days to it + 1 day",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::{PresentTopic, specs};

    fn views(config: &Config) -> Vec<TopicView> {
        let specs = specs(config).into_iter();
        let view = |spec: kafka::TopicSpec| {
            let settings = spec.config.iter();
            let present = PresentTopic {
                partitions: spec.partitions,
                replicas: spec.replication_factor.into(),
                settings: settings
                    .map(|(key, value)| ((*key).to_owned(), value.clone()))
                    .collect(),
            };
            TopicView {
                spec,
                present: Some(present),
            }
        };
        specs.map(view).collect()
    }

    fn with_retention(topic: &str, millis: &str) -> Option<Finding> {
        let config = Config::defaults().unwrap();
        let mut views = views(&config);
        let view = views
            .iter_mut()
            .find(|view| view.spec.name == topic)
            .unwrap();
        let present = view.present.as_mut().unwrap();
        present
            .settings
            .insert("retention.ms".into(), millis.into());
        judge_retention(&config, &views)
    }

    #[test]
    fn topics_that_fit_are_one_ok_line() {
        let views = views(&Config::defaults().unwrap());
        assert_eq!(judge_fit(&views).len(), 1);
    }

    #[test]
    fn a_missing_topic_and_another_count_are_named_with_the_remedy() {
        let mut views = views(&Config::defaults().unwrap());
        views[0].present = None;
        views[1].present.as_mut().unwrap().partitions = 6;
        let findings = judge_fit(&views);
        assert_eq!(findings.len(), 2);
        assert!(findings[0].remedy.contains("tidings topics apply"));
        assert_eq!(findings[1].key, "tidings.telegram.normal partitions");
    }

    #[test]
    fn claims_outlive_what_lanes_and_dead_letters_really_keep() {
        let day_millis = 86_400_000_u64;
        let days = |days: u64| (days * day_millis).to_string();
        assert_eq!(with_retention("tidings.telegram.normal", &days(31)), None);
        let finding = with_retention("tidings.telegram.replay", &days(32)).unwrap();
        assert_eq!(finding.key, "dispatcher.dedupe_retention_days");
        assert!(finding.found.contains("32.0 days"), "{}", finding.found);
        let for_ever = with_retention("tidings.telegram.dead-letter", "-1").unwrap();
        assert!(for_ever.found.contains("for ever"));
        // Nobody sends from the audit.
        assert_eq!(with_retention("tidings.audit", &days(400)), None);
    }
}
