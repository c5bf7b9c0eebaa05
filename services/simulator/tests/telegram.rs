//! Telegram's call, over real HTTP.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{only_entry, options, post, read, send, send_url, start, start_with};
use serde_json::json;
use tidings_simulator::log::Outcome;

#[tokio::test]
async fn a_message_is_accepted_and_logged() {
    let simulator = start(options()).await;
    let body = json!({ "chat_id": -1_001_087_453_541_i64, "message_thread_id": 9, "text": "<b>é</b> 1", "parse_mode": "HTML" });
    let (status, answer) = read(post(&simulator, body.to_string()).await).await;
    assert_eq!(status, 200);
    assert_eq!(answer["ok"], true);
    assert_eq!(answer["result"]["message_id"], 1);
    assert_eq!(
        answer["result"]["chat"],
        json!({ "id": -1_001_087_453_541_i64, "type": "supergroup", "title": "A supergroup" })
    );
    assert_eq!(answer["result"]["text"], "é 1");
    assert_eq!(answer["result"]["message_thread_id"], 9);
    assert!(answer["result"]["date"].as_i64().is_some());

    let entry = only_entry(&simulator);
    assert_eq!(
        (entry.seq, entry.accepted, entry.message_id),
        (1, true, Some(1))
    );
    assert_eq!(entry.account.as_deref(), Some("main"));
    assert_eq!(entry.chat_id.as_deref(), Some("-1001087453541"));
    assert_eq!(entry.thread_id.as_deref(), Some("9"));
    assert_eq!(entry.text.as_deref(), Some("<b>é</b> 1"));
    assert_eq!(entry.parse_mode.as_deref(), Some("HTML"));
    assert_eq!(entry.attempt.as_deref(), Some("m/o/1/1"));
    assert_eq!(entry.answer, Some(Outcome::Status(200)));
    simulator.stop().await.unwrap();
}

#[tokio::test]
async fn faulty_calls_are_refused_in_telegrams_words() {
    let simulator = start(options()).await;
    let calls = [
        (
            json!({ "chat_id": 7 }),
            "Bad Request: message text is empty",
        ),
        (
            json!({ "chat_id": 7, "text": " \n" }),
            "Bad Request: message text is empty",
        ),
        (
            json!({ "chat_id": 7, "text": "x".repeat(4_097) }),
            "Bad Request: message is too long",
        ),
        (
            json!({ "chat_id": 7, "text": "x".repeat(32_769) }),
            "Bad Request: text is too long",
        ),
        (json!({ "text": "x" }), "Bad Request: chat_id is empty"),
        (
            json!({ "chat_id": "seven", "text": "x" }),
            "Bad Request: chat not found",
        ),
        (
            json!({ "chat_id": 0, "text": "x" }),
            "Bad Request: chat not found",
        ),
        (
            json!({ "chat_id": 7, "text": "x", "message_thread_id": "y" }),
            "Bad Request: message thread not found",
        ),
        (
            json!({ "chat_id": 7, "text": "x", "parse_mode": "y" }),
            "Bad Request: unsupported parse_mode",
        ),
        (
            json!({ "chat_id": 7, "text": "<b>x", "parse_mode": "HTML" }),
            "Bad Request: can't parse entities: Can't find end tag corresponding to start tag \"b\"",
        ),
        (
            json!([]),
            "Bad Request: can't parse the request's body as a JSON object",
        ),
    ];
    for (body, description) in &calls {
        let (status, answer) = read(post(&simulator, body.to_string()).await).await;
        assert_eq!(status, 400);
        assert_eq!(
            answer,
            json!({ "ok": false, "error_code": 400, "description": description })
        );
    }
    let (status, _) = read(post(&simulator, "{".to_owned()).await).await;
    assert_eq!(status, 400);
    assert_eq!(simulator.stats().received, calls.len() as u64 + 1);
    assert_eq!(simulator.stats().accepted, 0);
}

/// Cases S10 and S12: what is long or odd, and right.
#[tokio::test]
async fn unusual_calls_are_accepted() {
    let simulator = start(options()).await;
    let texts = [
        ("😀".repeat(4_096), None),
        ("\\!".repeat(4_096), Some("MarkdownV2")),
    ];
    for (text, parse_mode) in texts {
        let body = json!({ "chat_id": "@channelname", "text": text, "parse_mode": parse_mode });
        assert_eq!(read(post(&simulator, body.to_string()).await).await.0, 200);
    }
    let body = json!({ "chat_id": "-7", "text": 12 });
    assert_eq!(
        read(post(&simulator, body.to_string()).await).await.1["result"]["text"],
        "12"
    );
}

#[tokio::test]
async fn tokens_and_paths() {
    let simulator = start(options()).await;
    let client = reqwest::Client::new();
    let base = simulator.base_url();
    let body = json!({ "chat_id": 7, "text": "x" }).to_string();
    for (path, status) in [
        ("/bot1:unknown/sendMessage", 401),
        ("/bot/sendMessage", 404),
        ("/botx/getUpdates", 404),
        ("/sendMessage", 404),
        ("/", 404),
    ] {
        let answer = client
            .post(format!("{base}{path}"))
            .body(body.clone())
            .send()
            .await;
        let (got, answer) = read(answer).await;
        assert_eq!(
            (got, &answer["error_code"]),
            (status, &json!(status)),
            "{path}"
        );
    }
    let entry = only_entry(&simulator);
    assert_eq!(
        (entry.account, entry.accepted, entry.answer),
        (None, false, Some(Outcome::Status(401)))
    );
    let escaped = send_url(&simulator)
        .replace(':', "%3A")
        .replacen("%3A", ":", 2);
    assert_eq!(
        read(client.post(escaped).body(body).send().await).await.0,
        200
    );
}

#[tokio::test]
async fn a_body_over_the_bound_is_refused() {
    let mut options = options();
    options.body_bytes = 1_000;
    let simulator = start(options).await;
    let (status, answer) = read(post(&simulator, "x".repeat(1_001)).await).await;
    assert_eq!((status, &answer["error_code"]), (413, &json!(413)));
    assert_eq!(only_entry(&simulator).answer, Some(Outcome::Status(413)));
}

#[tokio::test]
async fn a_full_log_refuses_calls() {
    let mut options = options();
    options.log_entries = 1;
    let simulator = start(options).await;
    assert_eq!(read(send(&simulator).await).await.0, 200);
    let (status, body) = read(send(&simulator).await).await;
    assert_eq!(status, 507);
    assert!(
        body["description"]
            .as_str()
            .unwrap()
            .contains("log is full")
    );
    assert_eq!(
        (simulator.stats().received, simulator.stats().refused),
        (1, 1)
    );
}

/// Many at once: numbers without gaps, ids without repeats, everything answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_calls_are_numbered_without_gaps() {
    const CALLS: usize = 500;
    let simulator =
        start_with(json!([{ "match": { "probability": 0.2 }, "action": { "answer": "blocked" } }]))
            .await;
    let client = reqwest::Client::new();
    let calls = (0..CALLS).map(|chat| {
        let body = json!({ "chat_id": chat + 1, "text": "x" }).to_string();
        tokio::spawn(client.post(send_url(&simulator)).body(body).send())
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().expect("answered");
    }
    let entries = simulator.log_from(1);
    assert!(entries.iter().map(|entry| entry.seq).eq(1..=CALLS as u64));
    let ids: Vec<i64> = entries
        .iter()
        .filter_map(|entry| entry.message_id)
        .collect();
    assert!(ids.iter().copied().eq(1..=ids.len() as i64));
    assert!(entries.iter().all(|entry| entry.answer.is_some()));
    assert_eq!(ids.len() as u64, simulator.stats().accepted);
}
