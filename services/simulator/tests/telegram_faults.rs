//! Scripted answers, and the lack of them, over real HTTP.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{always, only_entry, read, send, send_url, start_with, until};
use serde_json::{Value, json};
use tidings_simulator::Simulator;
use tidings_simulator::log::Outcome;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends once with every call answered by `answer`: status, headers, body.
async fn scripted(answer: Value) -> (u16, reqwest::header::HeaderMap, Value, Simulator) {
    let simulator = start_with(always(answer)).await;
    let response = send(&simulator).await.expect("answered");
    let headers = response.headers().clone();
    let (status, body) = read(Ok(response)).await;
    (status, headers, body, simulator)
}

#[tokio::test]
async fn throttled_in_every_form() {
    let words = "Too Many Requests: retry after 5";
    for (form, status, header, parameters, description) in [
        (
            "header_and_body",
            429,
            Some("5"),
            json!({ "retry_after": 5 }),
            words.to_owned(),
        ),
        (
            "body",
            429,
            None,
            json!({ "retry_after": 5 }),
            words.to_owned(),
        ),
        ("text", 429, None, Value::Null, words.to_owned()),
        (
            "text_400",
            400,
            None,
            Value::Null,
            format!("Bad Request: {words}"),
        ),
    ] {
        let (got, headers, body, simulator) =
            scripted(json!({ "throttle": { "retry_after": 5, "in": form } })).await;
        assert_eq!(got, status, "{form}");
        assert_eq!(
            headers
                .get("retry-after")
                .map(|value| value.to_str().unwrap()),
            header,
            "{form}"
        );
        assert_eq!(body["parameters"], parameters, "{form}");
        assert_eq!(body["description"], description, "{form}");
        assert!(!only_entry(&simulator).accepted);
    }
}

#[tokio::test]
async fn refusals_and_server_errors() {
    for (answer, status, description) in [
        (
            json!("blocked"),
            403,
            json!("Forbidden: bot was blocked by the user"),
        ),
        (
            json!("chat_not_found"),
            400,
            json!("Bad Request: chat not found"),
        ),
        (json!("unauthorized"), 401, json!("Unauthorized")),
        (
            json!({ "migrated": { "new_chat_id": -1_001_557_912_345_i64 } }),
            400,
            json!("Bad Request: group chat was upgraded to a supergroup chat"),
        ),
        (
            json!({ "server_error": { "status": 500 } }),
            500,
            json!("Internal Server Error"),
        ),
    ] {
        let (got, _, body, simulator) = scripted(answer.clone()).await;
        assert_eq!(
            (got, &body["description"]),
            (status, &description),
            "{answer}"
        );
        let entry = only_entry(&simulator);
        assert_eq!(
            (entry.accepted, entry.message_id, entry.answer),
            (false, None, Some(Outcome::Status(status)))
        );
    }
}

#[tokio::test]
async fn a_page_and_a_raw_answer() {
    let (status, headers, body, simulator) =
        scripted(json!({ "server_error": { "status": 502, "html": true, "accepted": true } }))
            .await;
    assert_eq!(
        (status, headers["content-type"].to_str().unwrap()),
        (502, "text/html")
    );
    assert!(body.as_str().unwrap().starts_with("<html>"));
    assert!(
        only_entry(&simulator).accepted,
        "a front end may fail after the message was posted"
    );

    let raw =
        json!({ "raw": { "status": 200, "headers": { "x-a": "b" }, "body": "error code: 1015" } });
    let (status, headers, body, simulator) = scripted(raw).await;
    assert_eq!(
        (
            status,
            headers["x-a"].to_str().unwrap(),
            body.as_str().unwrap()
        ),
        (200, "b", "error code: 1015")
    );
    assert!(!only_entry(&simulator).accepted);
}

#[tokio::test]
async fn migrated_names_the_new_chat() {
    let (_, _, body, _simulator) =
        scripted(json!({ "migrated": { "new_chat_id": -1_001_557_912_345_i64 } })).await;
    assert_eq!(
        body["parameters"]["migrate_to_chat_id"],
        -1_001_557_912_345_i64
    );
}

/// Accepted, and the client sees no status: the connection is closed.
#[tokio::test]
async fn lost_answers_are_really_lost() {
    let simulator = start_with(always(json!("lost"))).await;
    let error = send(&simulator).await.expect_err("no answer");
    assert!(error.status().is_none() && !error.is_connect(), "{error:?}");
    let entry = only_entry(&simulator);
    assert_eq!(
        (entry.accepted, entry.message_id, entry.answer),
        (true, Some(1), Some(Outcome::Lost))
    );
}

#[tokio::test]
async fn a_reset_accepts_nothing() {
    let simulator = start_with(always(json!("reset"))).await;
    let error = send(&simulator).await.expect_err("no answer");
    assert!(error.status().is_none(), "{error:?}");
    let entry = only_entry(&simulator);
    assert_eq!(
        (entry.accepted, entry.message_id, entry.answer),
        (false, None, Some(Outcome::Reset))
    );
}

/// A cut on a connection that was used before: the client must not repeat the call by itself.
#[tokio::test]
async fn a_lost_answer_on_a_kept_connection_is_one_call() {
    let second = json!([{ "match": { "after": 1 }, "action": { "answer": "lost" } }]);
    let simulator = start_with(second).await;
    let client = reqwest::Client::new();
    let send = || {
        client
            .post(send_url(&simulator))
            .body(r#"{"chat_id":7,"text":"x"}"#)
            .send()
    };
    assert_eq!(read(send().await).await.0, 200);
    assert!(send().await.is_err());
    assert_eq!(simulator.stats().received, 2);
}

/// Writes one call by hand and reads until the connection ends.
async fn bytes_after_call(simulator: &Simulator) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(simulator.address()).await?;
    let body = r#"{"chat_id":7,"text":"x"}"#;
    let path = format!("/bot{}/sendMessage", common::TOKEN);
    let call = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(call.as_bytes()).await?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.map(|_| bytes)
}

#[tokio::test]
async fn cut_connections_on_the_wire() {
    let simulator = start_with(always(json!("lost"))).await;
    assert_eq!(
        bytes_after_call(&simulator).await.unwrap(),
        b"",
        "an orderly end, and not one byte"
    );
    simulator
        .set_script(common::script(always(json!("reset"))))
        .unwrap();
    let error = bytes_after_call(&simulator).await.expect_err("a reset");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

/// A call in progress is in the log, and stopping cuts it off.
#[tokio::test]
async fn hanging_calls_are_seen_and_end_with_the_simulator() {
    for (answer, accepted) in [("hang", false), ("hang_accepted", true)] {
        let simulator = start_with(always(json!(answer))).await;
        let url = send_url(&simulator);
        let body = json!({ "chat_id": 7, "text": "x" }).to_string();
        let call = tokio::spawn(reqwest::Client::new().post(url).body(body).send());
        until(|| simulator.stats().by_answer.contains_key("hang")).await;
        assert_eq!(only_entry(&simulator).accepted, accepted);
        simulator.stop().await.unwrap();
        assert!(call.await.unwrap().expect_err("cut off").status().is_none());
    }
}

/// Case S4: the caller's deadline passes while the message is long there.
#[tokio::test]
async fn a_slow_call_is_accepted_before_it_is_answered() {
    let simulator = start_with(json!([{ "action": { "latency_ms": 600_000 } }])).await;
    let url = send_url(&simulator);
    let body = json!({ "chat_id": 7, "text": "x" }).to_string();
    let call = tokio::spawn(reqwest::Client::new().post(url).body(body).send());
    until(|| simulator.stats().received == 1).await;
    let entry = only_entry(&simulator);
    assert_eq!(
        (entry.accepted, entry.message_id, entry.answer),
        (true, Some(1), None)
    );
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    simulator.set_script(common::script(json!([]))).unwrap();
    assert_eq!(
        read(send(&simulator).await).await.1["result"]["message_id"],
        2
    );
    assert_eq!(simulator.stats().unanswered, 1);
    simulator.stop().await.unwrap();
}
