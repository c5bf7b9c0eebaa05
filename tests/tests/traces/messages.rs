//! What the trace of one message shows.

use std::time::Instant;

use rdkafka::Message as _;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::{Headers as _, OwnedMessage};
use serde_json::json;
use tidings_envelope::trace::create_context;

use crate::jaeger::{Trace, id, parent, tag};
use crate::world::{PATIENCE, UPSTREAM_SPAN, UPSTREAM_TRACE, World};

const POST: &str = "POST /bot{token}/sendMessage";

#[tokio::test]
async fn a_message_delivered_after_one_retry_is_one_trace_from_the_transaction_to_the_answer() {
    let world = World::new().await;
    world.script(json!({"rules": [
        {"match": {"times": 1}, "action": {"answer": {"server_error": {"status": 503}}}}
    ]}));
    let _roles = world.roles().await;
    let message = world.say(42, None).await;
    assert_eq!(world.settled(message).await, "delivered");

    let names = Names::of(&world);
    let trace = world
        .jaeger
        .trace_with(&own_trace(message), &names.of_a_retry())
        .await;
    let (create, send) = (trace.one(&names.create), trace.one(&names.send));
    let process = trace.one(&names.process);
    assert_eq!(parent(create), None);
    assert_eq!(
        (parent(send), parent(process)),
        (Some(id(create)), Some(id(create)))
    );
    assert_eq!(tag(process, "tidings.outcome"), "delivered");
    assert_eq!(tag(process, "messaging.message.id"), &message.to_string());
    assert_eq!(tag(create, "messaging.message.id"), &message.to_string());
    attempts_are_siblings(&trace, id(process));
    let settle = trace.one(&names.settle);
    assert_eq!(parent(settle), Some(id(process)));
    let statements = trace.named("UPDATE tidings_delivery.claims");
    assert!(
        statements
            .iter()
            .any(|sent| parent(sent) == Some(id(settle)))
    );
    assert!(
        !trace.text.contains("local-simulator-only"),
        "{}",
        trace.text
    );
}

fn attempts_are_siblings(trace: &Trace, process: &str) {
    let attempts = trace.named(POST);
    let [first, second] = attempts.as_slice() else {
        panic!("{} attempts", attempts.len());
    };
    assert_eq!(
        (parent(first), parent(second)),
        (Some(process), Some(process))
    );
    assert_eq!(tag(first, "http.response.status_code"), 503);
    assert_eq!(tag(first, "error.type"), "503");
    assert_eq!(tag(first, "error"), true);
    assert!(tag(first, "http.request.resend_count").is_null());
    assert_eq!(tag(second, "http.response.status_code"), 200);
    assert_eq!(tag(second, "http.request.resend_count"), 1);
    assert_eq!(tag(second, "server.address"), "127.0.0.1");
}

#[tokio::test]
async fn upstreams_trace_goes_on() {
    let world = World::new().await;
    let _roles = world.roles().await;
    let traceparent = format!("00-{UPSTREAM_TRACE}-{UPSTREAM_SPAN}-01");
    let message = world.say(43, Some(&traceparent)).await;
    let names = Names::of(&world);
    let trace = world
        .jaeger
        .trace_with(UPSTREAM_TRACE, &names.of_a_delivery())
        .await;
    let create = trace.one(&names.create);
    assert_eq!(parent(create), Some(UPSTREAM_SPAN));
    assert_eq!(tag(create, "messaging.message.id"), &message.to_string());
    assert_eq!(parent(trace.one(&names.process)), Some(id(create)));
}

#[tokio::test]
async fn a_dead_letters_trace_ends_with_its_failure_and_the_letter_names_it() {
    let world = World::new().await;
    world.script(json!({"rules": [{"action": {"answer": {"raw": {"status": 400,
        "body": r#"{"ok":false,"error_code":400,"description":"Bad Request: message text is empty"}"#}}}}]}));
    let [_relay, dispatcher] = world.roles().await;
    let message = world.say(44, None).await;
    assert_eq!(world.settled(message).await, "rejected");

    let names = Names::of(&world);
    let trace = world
        .jaeger
        .trace_with(&own_trace(message), &names.of_a_dead_letter())
        .await;
    let process = trace.one(&names.process);
    assert_eq!(tag(process, "error"), true);
    assert_eq!(tag(process, "tidings.dead_letter.category"), "rejected");
    assert_eq!(parent(trace.one(POST)), Some(id(process)));
    assert_eq!(parent(trace.one(&names.dead_letter)), Some(id(process)));

    let log = std::fs::read_to_string(dispatcher.log()).unwrap();
    assert!(log.contains(&own_trace(message)), "{log}");
    let letter = dead_letter(&world);
    let context = create_context(message, None);
    assert_eq!(header(&letter, "traceparent"), context.to_traceparent());
    assert_eq!(
        header(&letter, "tidings_dlq_traceparent"),
        format!("00-{}-{}-01", own_trace(message), id(process))
    );
}

#[tokio::test]
async fn what_upstream_does_not_sample_is_not_traced() {
    let world = World::new().await;
    let by_parent = [("OTEL_TRACES_SAMPLER", "parentbased_always_on")];
    let _roles = world.roles_with(&by_parent, &by_parent).await;
    let unsampled = "0af7651916cd43dd8448eb211c80319c";
    let first = world
        .say(45, Some(&format!("00-{unsampled}-{UPSTREAM_SPAN}-00")))
        .await;
    // Of the same chat, so behind the first everywhere.
    let second = world.say(45, None).await;
    let names = Names::of(&world);
    world
        .jaeger
        .trace_with(&own_trace(second), &names.of_a_delivery())
        .await;
    assert_eq!(world.settled(first).await, "delivered");
    assert!(world.jaeger.trace(unsampled).await.is_none());
}

#[tokio::test]
async fn the_relays_sampler_decides_for_those_behind_it() {
    let world = World::new().await;
    let never = [("OTEL_TRACES_SAMPLER", "always_off")];
    let by_parent = [("OTEL_TRACES_SAMPLER", "parentbased_always_on")];
    let [_relay, mut dispatcher] = world.roles_with(&never, &by_parent).await;
    let message = world.say(49, None).await;
    assert_eq!(world.settled(message).await, "delivered");
    // Its end sends the last spans.
    dispatcher.stop(PATIENCE).await.unwrap();
    assert!(world.jaeger.trace(&own_trace(message)).await.is_none());
}

#[tokio::test]
async fn what_roles_do_beside_messages_is_traced_too() {
    let world = World::new().await;
    let _roles = world.roles().await;
    world
        .jaeger
        .operation("tidings-dispatcher", "bump epochs")
        .await;
    world
        .jaeger
        .operation("tidings-relay", "prepare relay")
        .await;
}

/// The spans' names in a deployment.
struct Names {
    create: String,
    send: String,
    process: String,
    settle: String,
    dead_letter: String,
}

impl Names {
    fn of(world: &World) -> Self {
        let prefix = &world.deployment.place().prefix;
        let on_lane = |what| format!("{what} {prefix}.telegram.normal");
        Self {
            create: on_lane("create"),
            send: on_lane("send"),
            process: on_lane("process"),
            settle: on_lane("settle"),
            dead_letter: format!("send {prefix}.telegram.dead-letter"),
        }
    }

    fn of_a_delivery(&self) -> Vec<&str> {
        vec![&self.create, &self.send, &self.process, POST, &self.settle]
    }

    fn of_a_retry(&self) -> Vec<&str> {
        [self.of_a_delivery(), vec![POST]].concat()
    }

    fn of_a_dead_letter(&self) -> Vec<&str> {
        [self.of_a_delivery(), vec![&*self.dead_letter]].concat()
    }
}

fn own_trace(message: uuid::Uuid) -> String {
    create_context(message, None).to_traceparent()[3..35].to_owned()
}

fn dead_letter(world: &World) -> OwnedMessage {
    let place = world.deployment.place();
    let reader: BaseConsumer = rdkafka::ClientConfig::new()
        .set("bootstrap.servers", &place.brokers)
        .set("group.id", format!("{}-reader", place.group))
        .set("auto.offset.reset", "earliest")
        .create()
        .unwrap();
    let topic = format!("{}.telegram.dead-letter", place.prefix);
    reader.subscribe(&[&topic]).unwrap();
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let Some(record) = reader.poll(std::time::Duration::from_millis(100)) {
            return record.unwrap().detach();
        }
    }
    panic!("no dead letter in {topic}");
}

fn header(record: &OwnedMessage, name: &str) -> String {
    let headers = record.headers().unwrap();
    let found = headers.iter().find(|header| header.key == name);
    String::from_utf8(found.unwrap().value.unwrap().to_vec()).unwrap()
}
