//! Faults that one setting makes, over a deployment that fits.

use crate::diagnosis::Case;
use crate::world::{World, closed_port};

#[tokio::test]
async fn of_a_deployment_that_fits_nothing_is_said() {
    let world = World::new().await;
    let diagnosis = world.doctor(&[]).await;
    diagnosis.assert_problems(&[]);
    diagnosis.assert_warnings(&[]);
    let checks: Vec<&str> = diagnosis
        .findings
        .iter()
        .map(|f| f["check"].as_str().unwrap())
        .collect();
    for check in [
        "configuration",
        "lease",
        "upstream",
        "state",
        "registry",
        "kafka",
        "topics",
        "clock",
    ] {
        assert!(checks.contains(&check), "{check} in {checks:?}");
    }
}

#[tokio::test]
async fn a_setting_that_does_not_fit_is_found_and_explained() {
    let world = World::new().await;
    let closed = format!("127.0.0.1:{}", closed_port().await);
    let nowhere = format!("http://{closed}");
    let cases: [Case; 8] = [
        (
            &[("TIDINGS_DISPATCHER__LEASE", "2s")],
            &[(
                "lease",
                "dispatcher.lease",
                "must be longer than dispatcher.call_deadline",
            )],
        ),
        (
            &[("TIDINGS_DISPATCHER__DEDUPE_RETENTION_DAYS", "30")],
            &[(
                "dedupe retention",
                "dispatcher.dedupe_retention_days",
                "use 31",
            )],
        ),
        (
            &[
                ("TIDINGS_KAFKA__BROKER", "x:1"),
                ("TIDINGS_KAFKA_PREFIX", "x"),
            ],
            &[
                (
                    "configuration",
                    "TIDINGS_KAFKA__BROKER",
                    "did you mean TIDINGS_KAFKA__BROKERS?",
                ),
                (
                    "configuration",
                    "TIDINGS_KAFKA_PREFIX",
                    "did you mean TIDINGS_KAFKA__PREFIX?",
                ),
            ],
        ),
        (
            &[("TIDINGS_KAFKA__REPLICATION_FACTOR", "3")],
            &[("kafka", "kafka.replication_factor", "use at most 1")],
        ),
        (
            &[("TIDINGS_KAFKA__SESSION_TIMEOUT", "1h")],
            &[(
                "consumer group",
                "kafka.session_timeout",
                "group.max.session.timeout.ms",
            )],
        ),
        (
            &[("TIDINGS_REGISTRY__URL", &nowhere)],
            &[("registry", "registry.url", "check that the registry runs")],
        ),
        (
            &[
                ("TIDINGS_KAFKA__BROKERS", &closed),
                ("TIDINGS_KAFKA__ADMIN_TIMEOUT", "2s"),
            ],
            &[
                ("kafka", "kafka.brokers", "check that the brokers run"),
                ("topics", "kafka.brokers", "check that the brokers run"),
            ],
        ),
        (
            &[("TIDINGS_RELAY__STREAMS", "[\"order\"]")],
            &[("topics", ".events.order the topic", "tidings topics apply")],
        ),
    ];
    for (variables, expected) in cases {
        world.doctor(variables).await.assert_problems(expected);
    }
}

#[tokio::test]
async fn an_address_that_everybody_reaches_is_a_warning() {
    let world = World::new().await;
    let diagnosis = world
        .doctor(&[("TIDINGS_HTTP__LISTEN", "0.0.0.0:9100")])
        .await;
    diagnosis.assert_problems(&[]);
    diagnosis.assert_warnings(&[("http", "http.listen", "listen on 127.0.0.1")]);
}
