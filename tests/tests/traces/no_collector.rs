//! A collector that is away costs nothing but a counter (fault 38).

use std::net::TcpListener;
use std::time::{Duration, Instant};

use tidings_drill::Role;

use crate::world::{PATIENCE, World};

const FAILURES: &str = "tidings_trace_export_failures_total";

/// In which a role must have ended.
const END: Duration = Duration::from_secs(5);

#[tokio::test]
async fn without_a_collector_roles_deliver_count_and_end() {
    let world = World::new().await;
    // One refuses connections; the other takes them and never answers.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let refusing = format!("http://{}", closed.unwrap());
    let hanging = format!("http://{}", silent.local_addr().unwrap());
    let variable = "OTEL_EXPORTER_OTLP_ENDPOINT";
    let quickly = ("OTEL_EXPORTER_OTLP_TIMEOUT", "300");
    let [mut relay, mut dispatcher] = world
        .roles_with(&[(variable, &refusing), quickly], &[(variable, &hanging)])
        .await;
    let message = world.say(46, None).await;
    assert_eq!(world.settled(message).await, "delivered");
    counted(&relay, FAILURES).await;
    for role in [&mut relay, &mut dispatcher] {
        let log = role.log().to_owned();
        // One that takes longer is killed, and has not said the last word.
        role.stop(END).await.unwrap();
        let log = std::fs::read_to_string(log).unwrap();
        assert!(log.contains("roles: stopped"), "{log}");
    }
}

/// Waits until a counter has counted.
async fn counted(role: &Role, name: &str) {
    let until = Instant::now() + PATIENCE;
    loop {
        let metrics = role.metrics().await.unwrap_or_default();
        let mut counts = metrics.lines().filter_map(|line| {
            let count = line.strip_prefix(name)?.rsplit(' ').next()?;
            count.parse::<f64>().ok()
        });
        if counts.any(|count| count > 0.0) {
            return;
        }
        assert!(Instant::now() < until, "{name} stays 0:\n{metrics}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
