//! The simulator's own paths, over real HTTP.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{TOKEN, always, options, read, send, start, start_with};
use serde_json::{Value, json};
use tidings_simulator::Simulator;
use tidings_simulator::log::{Entry, Stats};

async fn get(simulator: &Simulator, path: &str) -> (u16, Value) {
    read(reqwest::get(format!("{}{path}", simulator.base_url())).await).await
}

async fn put_script(simulator: &Simulator, script: &str) -> (u16, Value) {
    let request = reqwest::Client::new().put(format!("{}/sim/script", simulator.base_url()));
    read(request.body(script.to_owned()).send().await).await
}

async fn log(simulator: &Simulator, from: &str) -> Vec<Entry> {
    let url = format!("{}/sim/log{from}", simulator.base_url());
    let text = reqwest::get(url).await.unwrap().text().await.unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn the_log_over_http_is_the_log() {
    let simulator = start(options()).await;
    for _ in 0..3 {
        send(&simulator).await.unwrap();
    }
    assert_eq!(log(&simulator, "").await, simulator.log_from(1));
    assert_eq!(log(&simulator, "?from=2").await, simulator.log_from(2));
    assert!(log(&simulator, "?from=4").await.is_empty());
    assert_eq!(get(&simulator, "/sim/log?from=x").await.0, 400);
}

/// More entries than one piece of the stream holds.
#[tokio::test]
async fn a_long_log_comes_whole() {
    let simulator = start(options()).await;
    let client = reqwest::Client::new();
    for _ in 0..1_203 {
        let request = client
            .post(common::send_url(&simulator))
            .body(r#"{"chat_id":7,"text":"x"}"#);
        request.send().await.unwrap().bytes().await.unwrap();
    }
    let entries = log(&simulator, "?from=100").await;
    assert!(entries.iter().map(|entry| entry.seq).eq(100..=1_203));
}

#[tokio::test]
async fn log_lines_have_the_documented_fields() {
    let simulator = start_with(always(json!("lost"))).await;
    send(&simulator).await.unwrap_err();
    let text = reqwest::get(format!("{}/sim/log", simulator.base_url()))
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    let mut entry: Value = serde_json::from_str(text.trim()).unwrap();
    assert!(entry["received_at_micros"].take().as_i64().unwrap() > 0);
    let expected = json!({
        "seq": 1, "received_at_micros": null, "account": "main", "chat_id": "7", "thread_id": null, "text": "hello",
        "parse_mode": null, "attempt": "m/o/1/1", "accepted": true,
        "over_limit": false, "exceeded": null, "in_penalty": false, "message_id": 1, "answer": "lost",
    });
    assert_eq!(entry, expected);
}

#[tokio::test]
async fn stats_count_by_answer() {
    let simulator = start_with(json!([
        { "match": { "times": 1 }, "action": { "answer": "lost" } },
        { "match": { "times": 2 }, "action": { "answer": { "throttle": { "retry_after": 1 } } } },
    ]))
    .await;
    for _ in 0..4 {
        let _lost_or_answered = send(&simulator).await;
    }
    let (status, stats) = get(&simulator, "/sim/stats").await;
    assert_eq!(status, 200);
    let stats: Stats = serde_json::from_value(stats).unwrap();
    assert_eq!(
        (stats.received, stats.accepted, stats.unanswered),
        (4, 2, 0)
    );
    let expected =
        [("200", 1), ("429", 2), ("lost", 1)].map(|(name, count)| (name.to_owned(), count));
    assert_eq!(stats.by_answer, expected.into());
}

#[tokio::test]
async fn a_script_is_put_reported_and_reset() {
    let simulator = start(options()).await;
    let script = r#"{"seed": 9, "default_latency_ms": {"mean": 0, "jitter": 0},
        "rules": [{"name": "r", "match": {"chat_id": 7, "account": "main", "text_contains": "ell"}, "action": {"answer": "blocked"}}]}"#;
    assert_eq!(
        put_script(&simulator, script).await,
        (200, json!({ "seed": 9 }))
    );
    assert_eq!(send(&simulator).await.unwrap().status(), 403);
    let (_, report) = get(&simulator, "/sim/script").await;
    assert_eq!(report["seed"], 9);
    assert_eq!(report["script"]["rules"][0]["name"], "r");
    assert_eq!(report["rules"], json!([{ "fitted": 1, "used": 1 }]));

    let reset = reqwest::Client::new().post(format!("{}/sim/reset", simulator.base_url()));
    assert_eq!(
        read(reset.send().await).await,
        (200, json!({ "next_seq": 2 }))
    );
    assert_eq!(simulator.stats().received, 0);
    assert_eq!(send(&simulator).await.unwrap().status(), 200);
    assert_eq!(log(&simulator, "").await[0].seq, 2);
}

#[tokio::test]
async fn a_wrong_script_is_refused_and_the_one_before_stays() {
    let simulator = start_with(always(json!("blocked"))).await;
    let rule = |rule: Value| json!({ "rules": [rule] }).to_string();
    let many = json!({ "rules": vec![json!({ "action": {} }); 1_001] }).to_string();
    for script in [
        "",
        "[]",
        "{",
        r#"{"rulez": []}"#,
        many.as_str(),
        &rule(json!({ "action": { "answer": "okay" } })),
        &rule(json!({ "action": { "answer": { "throttle": {} } } })),
        &rule(json!({ "action": { "latency_ms": -1 } })),
        &rule(json!({ "action": { "latency_ms": 600_001 } })),
        &rule(json!({ "action": { "latency_ms": { "mean": 1, "jitter": 2 } } })),
        &rule(json!({ "action": {}, "match": { "probability": 1.5 } })),
        &rule(json!({ "action": {}, "match": { "chat": 7 } })),
        &rule(json!({ "action": { "answer": { "server_error": { "status": 404 } } } })),
        &rule(json!({ "action": { "answer": { "raw": { "status": 100 } } } })),
        &rule(
            json!({ "action": { "answer": { "raw": { "status": 200, "headers": { "a b": "c" } } } } }),
        ),
        &rule(
            json!({ "action": { "answer": { "raw": { "status": 200, "headers": { "a": "b\nc" } } } } }),
        ),
    ] {
        let (status, body) = put_script(&simulator, script).await;
        assert_eq!(status, 400, "{script}");
        assert!(!body["error"].as_str().unwrap().is_empty());
    }
    assert_eq!(send(&simulator).await.unwrap().status(), 403);
}

#[tokio::test]
async fn nothing_shows_a_token() {
    let simulator = start(options()).await;
    send(&simulator).await.unwrap();
    for path in [
        "/sim/log",
        "/sim/stats",
        "/sim/script",
        "/sim/limits",
        "/sim/health",
    ] {
        let (status, body) = get(&simulator, path).await;
        assert_eq!(status, 200, "{path}");
        assert!(!body.to_string().contains(TOKEN), "{path}");
    }
    assert!(!format!("{:?}", options()).contains(TOKEN));
}

#[tokio::test]
async fn a_second_simulator_at_one_address_is_refused() {
    let first = start(options()).await;
    let mut options = options();
    options.listen = first.address();
    let Err(error) = Simulator::start(options).await else {
        panic!("two at one address");
    };
    assert!(error.to_string().contains(&first.address().to_string()));
}
