//! `tidings trace`.

use std::process::{Command, Output};

use serde_json::Value;
use uuid::Uuid;

use tidings_tests::binary;

use crate::world::{UPSTREAM_SPAN, World};

#[tokio::test]
async fn the_command_shows_a_messages_waterfall_wherever_its_trace_began() {
    let world = World::new().await;
    let [mut relay, mut dispatcher] = world.roles().await;
    let upstream_trace = "4bf92f3577b34da6a3ce929d0e0e4799";
    let traceparent = format!("00-{upstream_trace}-{UPSTREAM_SPAN}-01");
    let own = world.say(47, None).await;
    let continued = world.say(48, Some(&traceparent)).await;
    for message in [own, continued] {
        assert_eq!(world.settled(message).await, "delivered");
    }
    // Their ends send the last spans.
    for role in [&mut relay, &mut dispatcher] {
        role.stop(std::time::Duration::from_secs(10)).await.unwrap();
    }
    world
        .jaeger
        .trace_with(upstream_trace, &["POST /bot{token}/sendMessage"])
        .await;

    for message in [own, continued] {
        let shown = trace(&world, message, &[]);
        let text = String::from_utf8(shown.stdout).unwrap();
        assert_eq!(shown.status.code(), Some(0), "{text}");
        for expected in [
            "create ",
            "  send ",
            "  process ",
            "    POST ",
            "    settle ",
        ] {
            assert!(text.contains(expected), "{expected} is missing in {text}");
        }
        assert!(
            text.contains(&format!("{}/trace/", world.jaeger.url())),
            "{text}"
        );
    }
    let lines = trace(&world, own, &["--json"]);
    let lines = String::from_utf8(lines.stdout).unwrap();
    let spans: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(spans.len() >= 6 && spans.iter().all(|span| span["span_id"].is_string()));

    let unknown = trace(&world, Uuid::new_v4(), &[]);
    assert_eq!(unknown.status.code(), Some(3));
}

fn trace(world: &World, message: Uuid, more: &[&str]) -> Output {
    let mut command = Command::new(binary());
    let message = message.to_string();
    let arguments = ["trace", &message, "--jaeger", world.jaeger.url()];
    command.args(arguments).args(more).output().unwrap()
}
