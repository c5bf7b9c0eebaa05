//! A simulator with one account, and a client of it.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use reqwest::Response;
use serde_json::{Value, json};
use tidings_simulator::log::Entry;
use tidings_simulator::script::Script;
use tidings_simulator::{Simulator, SimulatorOptions};

/// The account `main`.
pub const TOKEN: &str = "123456:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw";
/// How long a test waits for what must come; only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Options with the one account, on a free port.
pub fn options() -> SimulatorOptions {
    SimulatorOptions::new(([127, 0, 0, 1], 0).into()).token(TOKEN, "main")
}

/// A running simulator.
pub async fn start(options: SimulatorOptions) -> Simulator {
    Simulator::start(options).await.expect("starts")
}

/// A running simulator with rules.
pub async fn start_with(rules: Value) -> Simulator {
    let simulator = start(options()).await;
    simulator.set_script(script(rules)).expect("valid");
    simulator
}

/// A script of `rules`.
pub fn script(rules: Value) -> Script {
    let script = json!({ "seed": 7, "rules": rules });
    Script::from_json(script.to_string().as_bytes()).expect("valid")
}

/// A rule for every call.
pub fn always(answer: Value) -> Value {
    json!([{ "action": { "answer": answer } }])
}

/// The address of `sendMessage`.
pub fn send_url(simulator: &Simulator) -> String {
    format!("{}/bot{TOKEN}/sendMessage", simulator.base_url())
}

/// Posts any body.
pub async fn post(simulator: &Simulator, body: String) -> reqwest::Result<Response> {
    let request = reqwest::Client::new().post(send_url(simulator));
    request
        .header("tidings-attempt", "m/o/1/1")
        .body(body)
        .send()
        .await
}

/// Sends "hello" to chat 7.
pub async fn send(simulator: &Simulator) -> reqwest::Result<Response> {
    post(
        simulator,
        json!({ "chat_id": 7, "text": "hello" }).to_string(),
    )
    .await
}

/// An answer's status and JSON.
pub async fn read(response: reqwest::Result<Response>) -> (u16, Value) {
    let response = response.expect("answered");
    let status = response.status().as_u16();
    let body = response.text().await.expect("a body");
    (
        status,
        serde_json::from_str(&body).unwrap_or(Value::String(body)),
    )
}

/// The only entry of the log.
pub fn only_entry(simulator: &Simulator) -> Entry {
    let mut entries = simulator.log_from(1);
    assert_eq!(entries.len(), 1);
    entries.remove(0)
}

/// Waits until `condition` holds.
pub async fn until(condition: impl Fn() -> bool) {
    let holds = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, holds)
        .await
        .expect("comes to hold");
}
