//! Telegram's call, over real HTTP.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{always, only_entry, options, post, read, send, send_url, start, start_with, until};
use serde_json::{Value, json};
use tidings_simulator::Simulator;
use tidings_simulator::log::Outcome;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Two threads, so that a wait that blocks one is found.
macro_rules! runtime_test {
    ($(#[$attribute:meta])* async fn $name:ident() $body:block) => {
        $(#[$attribute])*
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() $body
    };
}

runtime_test! {
    async fn a_message_is_accepted_and_logged() {
        let simulator = start(options()).await;
        let body = json!({ "chat_id": -1_001_087_453_541_i64, "message_thread_id": 9, "text": "<b>é</b> 1", "parse_mode": "HTML" });
        let (status, answer) = read(post(&simulator, body.to_string()).await).await;
        assert_eq!(status, 200);
        assert_eq!(answer["ok"], true);
        assert_eq!(answer["result"]["message_id"], 1);
        assert_eq!(answer["result"]["chat"], json!({ "id": -1_001_087_453_541_i64, "type": "supergroup", "title": "A supergroup" }));
        assert_eq!(answer["result"]["text"], "é 1");
        assert_eq!(answer["result"]["message_thread_id"], 9);
        assert!(answer["result"]["date"].as_i64().is_some());

        let entry = only_entry(&simulator);
        assert_eq!((entry.seq, entry.accepted, entry.message_id), (1, true, Some(1)));
        assert_eq!(entry.account.as_deref(), Some("main"));
        assert_eq!(entry.chat_id.as_deref(), Some("-1001087453541"));
        assert_eq!(entry.thread_id.as_deref(), Some("9"));
        assert_eq!(entry.text.as_deref(), Some("<b>é</b> 1"));
        assert_eq!(entry.parse_mode.as_deref(), Some("HTML"));
        assert_eq!(entry.attempt.as_deref(), Some("m/o/1/1"));
        assert_eq!(entry.answer, Some(Outcome::Status(200)));
        simulator.stop().await.unwrap();
    }
}

runtime_test! {
    async fn faulty_calls_are_refused_in_telegrams_words() {
        let simulator = start(options()).await;
        let calls = [
            (json!({ "chat_id": 7 }), "Bad Request: message text is empty"),
            (json!({ "chat_id": 7, "text": " \n" }), "Bad Request: message text is empty"),
            (json!({ "chat_id": 7, "text": "x".repeat(4_097) }), "Bad Request: message is too long"),
            (json!({ "chat_id": 7, "text": "x".repeat(32_769) }), "Bad Request: text is too long"),
            (json!({ "text": "x" }), "Bad Request: chat_id is empty"),
            (json!({ "chat_id": "seven", "text": "x" }), "Bad Request: chat not found"),
            (json!({ "chat_id": 0, "text": "x" }), "Bad Request: chat not found"),
            (json!({ "chat_id": 7, "text": "x", "message_thread_id": "y" }), "Bad Request: message thread not found"),
            (json!({ "chat_id": 7, "text": "x", "parse_mode": "y" }), "Bad Request: unsupported parse_mode"),
            (json!({ "chat_id": 7, "text": "<b>x", "parse_mode": "HTML" }),
                "Bad Request: can't parse entities: Can't find end tag corresponding to start tag \"b\""),
            (json!([]), "Bad Request: can't parse the request's body as a JSON object"),
        ];
        for (body, description) in &calls {
            let (status, answer) = read(post(&simulator, body.to_string()).await).await;
            assert_eq!(status, 400);
            assert_eq!(answer, json!({ "ok": false, "error_code": 400, "description": description }));
        }
        let (status, _) = read(post(&simulator, "{".to_owned()).await).await;
        assert_eq!(status, 400);
        assert_eq!(simulator.stats().received, calls.len() as u64 + 1);
        assert_eq!(simulator.stats().accepted, 0);
    }
}

runtime_test! {
    /// Cases S10 and S12: what is long or odd, and right.
    async fn unusual_calls_are_accepted() {
        let simulator = start(options()).await;
        let texts = [("😀".repeat(4_096), None), ("\\!".repeat(4_096), Some("MarkdownV2"))];
        for (text, parse_mode) in texts {
            let body = json!({ "chat_id": "@channelname", "text": text, "parse_mode": parse_mode });
            assert_eq!(read(post(&simulator, body.to_string()).await).await.0, 200);
        }
        let body = json!({ "chat_id": "-7", "text": 12 });
        assert_eq!(read(post(&simulator, body.to_string()).await).await.1["result"]["text"], "12");
    }
}

runtime_test! {
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
            let answer = client.post(format!("{base}{path}")).body(body.clone()).send().await;
            let (got, answer) = read(answer).await;
            assert_eq!((got, &answer["error_code"]), (status, &json!(status)), "{path}");
        }
        let entry = only_entry(&simulator);
        assert_eq!((entry.account, entry.accepted, entry.answer), (None, false, Some(Outcome::Status(401))));
        let escaped = send_url(&simulator).replace(':', "%3A").replacen("%3A", ":", 2);
        assert_eq!(read(client.post(escaped).body(body).send().await).await.0, 200);
    }
}

runtime_test! {
    async fn a_body_over_the_bound_is_refused() {
        let mut options = options();
        options.body_bytes = 1_000;
        let simulator = start(options).await;
        let (status, answer) = read(post(&simulator, "x".repeat(1_001)).await).await;
        assert_eq!((status, &answer["error_code"]), (413, &json!(413)));
        assert_eq!(only_entry(&simulator).answer, Some(Outcome::Status(413)));
    }
}

/// Sends once with every call answered by `answer`: status, headers, body.
async fn scripted(answer: Value) -> (u16, reqwest::header::HeaderMap, Value, Simulator) {
    let simulator = start_with(always(answer)).await;
    let response = send(&simulator).await.expect("answered");
    let headers = response.headers().clone();
    let (status, body) = read(Ok(response)).await;
    (status, headers, body, simulator)
}

runtime_test! {
    async fn throttled_in_every_form() {
        let words = "Too Many Requests: retry after 5";
        for (form, status, header, parameters, description) in [
            ("header_and_body", 429, Some("5"), json!({ "retry_after": 5 }), words.to_owned()),
            ("body", 429, None, json!({ "retry_after": 5 }), words.to_owned()),
            ("text", 429, None, Value::Null, words.to_owned()),
            ("text_400", 400, None, Value::Null, format!("Bad Request: {words}")),
        ] {
            let (got, headers, body, simulator) = scripted(json!({ "throttle": { "retry_after": 5, "in": form } })).await;
            assert_eq!(got, status, "{form}");
            assert_eq!(headers.get("retry-after").map(|value| value.to_str().unwrap()), header, "{form}");
            assert_eq!(body["parameters"], parameters, "{form}");
            assert_eq!(body["description"], description, "{form}");
            assert!(!only_entry(&simulator).accepted);
        }
    }
}

runtime_test! {
    async fn refusals_and_server_errors() {
        for (answer, status, description) in [
            (json!("blocked"), 403, json!("Forbidden: bot was blocked by the user")),
            (json!("chat_not_found"), 400, json!("Bad Request: chat not found")),
            (json!("unauthorized"), 401, json!("Unauthorized")),
            (json!({ "migrated": { "new_chat_id": -1_001_557_912_345_i64 } }), 400, json!("Bad Request: group chat was upgraded to a supergroup chat")),
            (json!({ "server_error": { "status": 500 } }), 500, json!("Internal Server Error")),
        ] {
            let (got, _, body, simulator) = scripted(answer.clone()).await;
            assert_eq!((got, &body["description"]), (status, &description), "{answer}");
            let entry = only_entry(&simulator);
            assert_eq!((entry.accepted, entry.message_id, entry.answer), (false, None, Some(Outcome::Status(status))));
        }
    }
}

runtime_test! {
    async fn a_page_and_a_raw_answer() {
        let (status, headers, body, simulator) = scripted(json!({ "server_error": { "status": 502, "html": true, "accepted": true } })).await;
        assert_eq!((status, headers["content-type"].to_str().unwrap()), (502, "text/html"));
        assert!(body.as_str().unwrap().starts_with("<html>"));
        assert!(only_entry(&simulator).accepted, "a front end may fail after the message was posted");

        let raw = json!({ "raw": { "status": 200, "headers": { "x-a": "b" }, "body": "error code: 1015" } });
        let (status, headers, body, simulator) = scripted(raw).await;
        assert_eq!((status, headers["x-a"].to_str().unwrap(), body.as_str().unwrap()), (200, "b", "error code: 1015"));
        assert!(!only_entry(&simulator).accepted);
    }
}

runtime_test! {
    async fn migrated_names_the_new_chat() {
        let (_, _, body, _simulator) = scripted(json!({ "migrated": { "new_chat_id": -1_001_557_912_345_i64 } })).await;
        assert_eq!(body["parameters"]["migrate_to_chat_id"], -1_001_557_912_345_i64);
    }
}

runtime_test! {
    /// Accepted, and the client sees no status: the connection is closed.
    async fn lost_answers_are_really_lost() {
        let simulator = start_with(always(json!("lost"))).await;
        let error = send(&simulator).await.expect_err("no answer");
        assert!(error.status().is_none() && !error.is_connect(), "{error:?}");
        let entry = only_entry(&simulator);
        assert_eq!((entry.accepted, entry.message_id, entry.answer), (true, Some(1), Some(Outcome::Lost)));
    }
}

runtime_test! {
    async fn a_reset_accepts_nothing() {
        let simulator = start_with(always(json!("reset"))).await;
        let error = send(&simulator).await.expect_err("no answer");
        assert!(error.status().is_none(), "{error:?}");
        let entry = only_entry(&simulator);
        assert_eq!((entry.accepted, entry.message_id, entry.answer), (false, None, Some(Outcome::Reset)));
    }
}

runtime_test! {
    /// A cut on a connection that was used before: the client must not repeat the call by itself.
    async fn a_lost_answer_on_a_kept_connection_is_one_call() {
        let second = json!([{ "match": { "after": 1 }, "action": { "answer": "lost" } }]);
        let simulator = start_with(second).await;
        let client = reqwest::Client::new();
        let send = || client.post(send_url(&simulator)).body(r#"{"chat_id":7,"text":"x"}"#).send();
        assert_eq!(read(send().await).await.0, 200);
        assert!(send().await.is_err());
        assert_eq!(simulator.stats().received, 2);
    }
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

runtime_test! {
    async fn cut_connections_on_the_wire() {
        let simulator = start_with(always(json!("lost"))).await;
        assert_eq!(bytes_after_call(&simulator).await.unwrap(), b"", "an orderly end, and not one byte");
        simulator.set_script(common::script(always(json!("reset")))).unwrap();
        let error = bytes_after_call(&simulator).await.expect_err("a reset");
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
}

runtime_test! {
    /// A call in progress is in the log, and stopping cuts it off.
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
}

runtime_test! {
    /// Case S4: the caller's deadline passes while the message is long there.
    async fn a_slow_call_is_accepted_before_it_is_answered() {
        let simulator = start_with(json!([{ "action": { "latency_ms": 600_000 } }])).await;
        let url = send_url(&simulator);
        let body = json!({ "chat_id": 7, "text": "x" }).to_string();
        let call = tokio::spawn(reqwest::Client::new().post(url).body(body).send());
        until(|| simulator.stats().received == 1).await;
        let entry = only_entry(&simulator);
        assert_eq!((entry.accepted, entry.message_id, entry.answer), (true, Some(1), None));
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        simulator.set_script(common::script(json!([]))).unwrap();
        assert_eq!(read(send(&simulator).await).await.1["result"]["message_id"], 2);
        assert_eq!(simulator.stats().unanswered, 1);
        simulator.stop().await.unwrap();
    }
}

runtime_test! {
    async fn a_full_log_refuses_calls() {
        let mut options = options();
        options.log_entries = 1;
        let simulator = start(options).await;
        assert_eq!(read(send(&simulator).await).await.0, 200);
        let (status, body) = read(send(&simulator).await).await;
        assert_eq!(status, 507);
        assert!(body["description"].as_str().unwrap().contains("log is full"));
        assert_eq!((simulator.stats().received, simulator.stats().refused), (1, 1));
    }
}

runtime_test! {
    /// Many at once: numbers without gaps, ids without repeats, everything answered.
    async fn concurrent_calls_are_numbered_without_gaps() {
        const CALLS: usize = 500;
        let simulator = start_with(json!([{ "match": { "probability": 0.2 }, "action": { "answer": "blocked" } }])).await;
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
        let ids: Vec<i64> = entries.iter().filter_map(|entry| entry.message_id).collect();
        assert!(ids.iter().copied().eq(1..=ids.len() as i64));
        assert!(entries.iter().all(|entry| entry.answer.is_some()));
        assert_eq!(ids.len() as u64, simulator.stats().accepted);
    }
}
