//! Limits, penalties and their counts, over real HTTP.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::collections::BTreeMap;

use common::{TOKEN, options, post, read, script, send, start};
use reqwest::Response;
use serde_json::{Value, json};
use tidings_simulator::limits::{AccountStats, Exceeded, Limits, LimitsError};
use tidings_simulator::log::Entry;
use tidings_simulator::{Simulator, SimulatorError};

/// In an hour, so that no test depends on how fast it runs.
fn slow(enforce: &str, count: u32) -> Value {
    json!({
        "enforce": enforce, "chat": null, "group": null,
        "account": { "count": count, "period_ms": 3_600_000 },
    })
}

async fn held_to(limits: Value) -> Simulator {
    let limits = Limits::from_json(limits.to_string().as_bytes()).unwrap();
    start(options().limits("main", limits)).await
}

async fn send_to(simulator: &Simulator, chat_id: i64) -> Response {
    let body = json!({ "chat_id": chat_id, "text": "hello" });
    post(simulator, body.to_string()).await.unwrap()
}

async fn put_limits(simulator: &Simulator, limits: &str) -> (u16, Value) {
    let request = reqwest::Client::new().put(format!("{}/sim/limits", simulator.base_url()));
    read(request.body(limits.to_owned()).send().await).await
}

async fn get(simulator: &Simulator, path: &str) -> Value {
    read(reqwest::get(format!("{}{path}", simulator.base_url())).await)
        .await
        .1
}

fn marks(entry: &Entry) -> (bool, Option<Exceeded>, bool) {
    (entry.over_limit, entry.exceeded, entry.in_penalty)
}

/// Checks a 429 and returns its seconds.
async fn retry_after(response: Response) -> u64 {
    assert_eq!(response.headers()["content-type"], "application/json");
    let header = response.headers()["retry-after"]
        .to_str()
        .unwrap()
        .to_owned();
    let (status, body) = read(Ok(response)).await;
    let seconds: u64 = header.parse().unwrap();
    let expected = json!({
        "ok": false, "error_code": 429, "description": format!("Too Many Requests: retry after {seconds}"),
        "parameters": { "retry_after": seconds },
    });
    assert_eq!((status, body), (429, expected));
    seconds
}

#[tokio::test]
async fn too_much_is_refused_in_telegrams_words_and_marked() {
    let simulator = held_to(slow("answer", 2)).await;
    for chat_id in [1, 2] {
        assert_eq!(send_to(&simulator, chat_id).await.status(), 200);
    }
    let seconds = retry_after(send_to(&simulator, 3).await).await;
    assert!((1..=3_600).contains(&seconds), "{seconds}");
    let entries = simulator.log_from(1);
    assert_eq!(marks(&entries[1]), (false, None, false));
    let expected = (true, Some(Exceeded::Account), false);
    assert_eq!((marks(&entries[2]), entries[2].accepted), (expected, false));
}

#[tokio::test]
async fn each_limit_is_named_in_the_log_and_in_no_answer() {
    let simulator = held_to(json!({
        "account": null,
        "chat": { "spacing_ms": 3_600_000 }, "group": { "count": 1, "period_ms": 86_400_000 },
    }))
    .await;
    for (chat_id, exceeded, least) in [(1, Exceeded::Chat, 3_000), (-1, Exceeded::Group, 80_000)] {
        assert_eq!(send_to(&simulator, chat_id).await.status(), 200);
        assert!(retry_after(send_to(&simulator, chat_id).await).await > least);
        let last = simulator.log_from(1).pop().unwrap();
        assert_eq!(marks(&last), (true, Some(exceeded), false));
    }
    assert_eq!(send_to(&simulator, 2).await.status(), 200, "another chat");
}

#[tokio::test]
async fn counting_answers_as_if_there_were_no_limit() {
    let simulator = held_to(slow("count", 2)).await;
    for chat_id in 1..=5 {
        assert_eq!(send_to(&simulator, chat_id).await.status(), 200);
    }
    let over_limit = |entry: &Entry| entry.over_limit;
    let marks: Vec<_> = simulator.log_from(1).iter().map(over_limit).collect();
    assert_eq!(marks, [false, false, true, true, true]);
    let stats = &simulator.account_stats(None)["main"];
    assert_eq!((stats.over_limit, stats.refused), (3, 0));
    assert_eq!((stats.accepted, stats.most_in_account_window), (5, 5));
}

#[tokio::test]
async fn an_account_without_limits_has_none() {
    let simulator = start(options()).await;
    for _ in 0..40 {
        assert_eq!(send(&simulator).await.unwrap().status(), 200);
    }
    let stats = &simulator.account_stats(None)["main"];
    assert_eq!((stats.accepted, stats.over_limit), (40, 0));
}

#[tokio::test]
async fn faulty_calls_reach_no_limit() {
    let simulator = held_to(slow("answer", 1)).await;
    for body in [r#"{"chat_id": 1}"#, "{", r#"{"text": "x"}"#] {
        assert_eq!(post(&simulator, body.into()).await.unwrap().status(), 400);
    }
    assert_eq!(send_to(&simulator, 1).await.status(), 200);
    assert_eq!(send_to(&simulator, 2).await.status(), 429);
    assert_eq!(simulator.account_stats(None)["main"].arrived, 2);
}

/// The excuse is nothing here, so that no test waits for it to pass.
#[tokio::test]
async fn a_scripted_429_opens_a_penalty_of_its_chat() {
    let mut limits = slow("answer", 100);
    limits["excuse_ms"] = json!(0);
    let simulator = held_to(limits).await;
    let rule = json!([{ "match": { "times": 1 }, "action": { "answer": { "throttle": { "retry_after": 900 } } } }]);
    simulator.set_script(script(rule)).unwrap();
    assert_eq!(retry_after(send_to(&simulator, 1).await).await, 900);
    assert_eq!(send_to(&simulator, 2).await.status(), 200, "another chat");
    assert!(retry_after(send_to(&simulator, 1).await).await > 800);
    let entries = simulator.log_from(1);
    assert_eq!(marks(&entries[0]), (false, None, false));
    assert_eq!(marks(&entries[2]), (false, None, true));
    assert_eq!(simulator.stats().in_penalty, 1);
}

#[tokio::test]
async fn a_scripted_429_of_the_account_holds_every_chat() {
    let mut limits = slow("answer", 100);
    limits["excuse_ms"] = json!(0);
    limits["account_penalty_chats"] = json!(1);
    let simulator = held_to(limits).await;
    let throttle = json!({ "throttle": { "retry_after": 900, "scope": "account" } });
    let rule = json!([{ "match": { "times": 1 }, "action": { "answer": throttle } }]);
    simulator.set_script(script(rule)).unwrap();
    for (chat_id, in_penalty) in [(1, false), (2, true)] {
        assert!(retry_after(send_to(&simulator, chat_id).await).await > 800);
        let last = simulator.log_from(1).pop().unwrap();
        assert_eq!(last.in_penalty, in_penalty, "chat {chat_id}");
    }
}

#[tokio::test]
async fn a_penalty_is_not_open_before_its_answer() {
    let mut limits = slow("answer", 100);
    limits["excuse_ms"] = json!(0);
    let simulator = held_to(limits).await;
    let action = json!({ "latency_ms": 60_000, "answer": { "throttle": { "retry_after": 900 } } });
    let rule = json!([{ "match": { "times": 1 }, "action": action }]);
    simulator.set_script(script(rule)).unwrap();
    let slow = send_to(&simulator, 1);
    tokio::select! {
        response = slow => panic!("{response:?}"),
        () = common::until(|| simulator.stats().received == 1) => {}
    }
    assert_eq!(send_to(&simulator, 1).await.status(), 200);
}

#[tokio::test]
async fn limits_change_while_running() {
    let simulator = held_to(slow("answer", 1)).await;
    assert_eq!(send_to(&simulator, 1).await.status(), 200);
    let changed = json!({ "main": slow("answer", 2) });
    let (status, in_force) = put_limits(&simulator, &changed.to_string()).await;
    assert_eq!(
        (status, &in_force["main"]["account"]["count"]),
        (200, &json!(2))
    );
    assert_eq!(get(&simulator, "/sim/limits").await, in_force);
    assert_eq!(send_to(&simulator, 2).await.status(), 200);
    assert_eq!(send_to(&simulator, 3).await.status(), 429);
    let reset = reqwest::Client::new().post(format!("{}/sim/reset", simulator.base_url()));
    assert_eq!(reset.send().await.unwrap().status(), 200);
    assert_eq!(get(&simulator, "/sim/limits").await, in_force);
    assert_eq!(
        simulator.account_stats(None)["main"],
        AccountStats::default()
    );
    assert_eq!(
        send_to(&simulator, 3).await.status(),
        200,
        "nothing is held"
    );
}

#[tokio::test]
async fn wrong_limits_are_refused_and_the_ones_before_stay() {
    let simulator = held_to(slow("answer", 7)).await;
    for (limits, part) in [
        ("", "JSON"),
        ("[]", "JSON"),
        (r#"{"main": []}"#, "JSON"),
        (r#"{"main": {"acount": null}}"#, "acount"),
        (r#"{"other": {}}"#, "other: "),
        (r#"{"main": {}, "other": {}}"#, "other: "),
        (
            r#"{"main": {"chat": {"spacing_ms": 0}}}"#,
            "main: chat must",
        ),
    ] {
        let (status, body) = put_limits(&simulator, limits).await;
        let error = body["error"].as_str().unwrap();
        assert!(status == 400 && error.contains(part), "{limits}: {error}");
    }
    let count = simulator.limits()["main"].account.unwrap().count;
    assert_eq!(count, 7);
    let unknown = options().limits("other", Limits::default());
    let Err(SimulatorError::Limits(error)) = Simulator::start(unknown).await else {
        panic!("an account that is not there");
    };
    assert!(matches!(error, LimitsError::UnknownAccount { .. }));
}

#[tokio::test]
async fn counts_come_by_account_worker_and_second() {
    let simulator = held_to(slow("answer", 2)).await;
    let client = reqwest::Client::new();
    for (chat_id, worker) in [(1, "a"), (2, "b"), (3, "a")] {
        let request = client.post(format!("{}/bot{TOKEN}/sendMessage", simulator.base_url()));
        let request = request.header("tidings-attempt", format!("m/{worker}/1/1"));
        let body = json!({ "chat_id": chat_id, "text": "x" }).to_string();
        request.body(body).send().await.unwrap();
    }
    let stats = get(&simulator, "/sim/stats").await;
    assert_eq!(
        (&stats["received"], &stats["over_limit"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(stats["accounts"]["main"]["seconds"], Value::Null);
    let stats = get(&simulator, "/sim/stats?seconds_from=0").await;
    let main: AccountStats = serde_json::from_value(stats["accounts"]["main"].clone()).unwrap();
    assert_eq!((main.arrived, main.accepted, main.refused), (3, 2, 1));
    assert_eq!(main.over_limit_by, BTreeMap::from([(Exceeded::Account, 1)]));
    let workers = ["a", "b"].map(|worker| (worker.to_owned(), 1));
    assert_eq!(main.accepted_by_worker, BTreeMap::from(workers));
    assert_eq!(
        main.seconds
            .iter()
            .map(|second| second.accepted)
            .sum::<u64>(),
        2
    );
    let later = main.seconds.last().unwrap().unix_second + 1;
    let stats = get(&simulator, &format!("/sim/stats?seconds_from={later}")).await;
    assert_eq!(stats["accounts"]["main"]["seconds"], Value::Null);
}
