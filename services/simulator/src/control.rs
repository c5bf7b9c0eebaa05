//! The simulator's own paths, under `/sim`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::limits::{AccountStats, Limits};
use crate::log::{Entry, Stats};
use crate::script::{Script, ScriptReport};
use crate::shared::Shared;

/// Entries that one piece of the log's stream holds, and for which its lock is held at once.
const PIECE_ENTRIES: usize = 500;
/// The largest script, or limits, read, in bytes.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

#[derive(Debug, Deserialize)]
pub(crate) struct LogQuery {
    #[serde(default)]
    from: u64,
}

/// The log from `from` on, one JSON object a line, up to the last entry that is there when it is asked for. An entry's
/// answer is the one known when its line is written.
pub(crate) async fn log(
    State(shared): State<Arc<Shared>>,
    Query(LogQuery { from }): Query<LogQuery>,
) -> Response {
    let end = shared.log.next_seq();
    let pieces = stream::unfold(from, move |seq| {
        let piece = piece(&shared, seq, end);
        std::future::ready(piece)
    });
    let headers = [(header::CONTENT_TYPE, "application/x-ndjson")];
    (headers, Body::from_stream(pieces)).into_response()
}

/// The lines from `seq` on and the number to go on from; `None` at `end`.
fn piece(shared: &Shared, seq: u64, end: u64) -> Option<(Result<String, Infallible>, u64)> {
    let mut entries = shared.log.read(seq, PIECE_ENTRIES);
    entries.retain(|entry| entry.seq < end);
    let next = entries.last()?.seq + 1;
    Some((Ok(entries.iter().map(line).collect()), next))
}

fn line(entry: &Entry) -> String {
    // An entry has no map and no float, so it always has a form in JSON.
    serde_json::to_string(entry).map_or_else(|_| String::new(), |json| json + "\n")
}

pub(crate) async fn script(State(shared): State<Arc<Shared>>) -> Json<ScriptReport> {
    Json(shared.engine.report())
}

pub(crate) async fn put_script(State(shared): State<Arc<Shared>>, body: Body) -> Response {
    let body = match axum::body::to_bytes(body, MAX_BODY_BYTES).await {
        Ok(body) => body,
        Err(error) => return refuse(&format!("the script could not be read: {error}")),
    };
    let replaced = Script::from_json(&body).and_then(|script| shared.engine.replace(script));
    match replaced {
        Ok(seed) => Json(json!({ "seed": seed })).into_response(),
        Err(error) => refuse(&error.to_string()),
    }
}

pub(crate) async fn limits(State(shared): State<Arc<Shared>>) -> Json<BTreeMap<String, Limits>> {
    Json(shared.limits.limits())
}

/// Puts limits in force for the accounts named, and answers with those of every account.
pub(crate) async fn put_limits(State(shared): State<Arc<Shared>>, body: Body) -> Response {
    let body = match axum::body::to_bytes(body, MAX_BODY_BYTES).await {
        Ok(body) => body,
        Err(error) => return refuse(&format!("the limits could not be read: {error}")),
    };
    let replaced = Limits::by_account(&body).and_then(|limits| shared.limits.replace(&limits));
    match replaced {
        Ok(()) => Json(shared.limits.limits()).into_response(),
        Err(error) => refuse(&error.to_string()),
    }
}

fn refuse(problem: &str) -> Response {
    let body = Json(json!({ "error": problem }));
    (StatusCode::BAD_REQUEST, body).into_response()
}

#[derive(Debug, Deserialize)]
pub(crate) struct StatsQuery {
    seconds_from: Option<u64>,
}

/// Every count.
#[derive(Debug, Serialize)]
pub(crate) struct StatsReport {
    #[serde(flatten)]
    log: Stats,
    accounts: BTreeMap<String, AccountStats>,
}

pub(crate) async fn stats(
    State(shared): State<Arc<Shared>>,
    Query(StatsQuery { seconds_from }): Query<StatsQuery>,
) -> Json<StatsReport> {
    Json(StatsReport {
        log: shared.log.stats(),
        accounts: shared.limits.stats(seconds_from),
    })
}

pub(crate) async fn post_reset(State(shared): State<Arc<Shared>>) -> Response {
    match reset(&shared) {
        Ok(()) => Json(json!({ "next_seq": shared.log.next_seq() })).into_response(),
        Err(error) => {
            tracing::error!(%error, "the log file cannot be emptied");
            let body = Json(json!({ "error": "the log file cannot be emptied" }));
            (StatusCode::INTERNAL_SERVER_ERROR, body).into_response()
        }
    }
}

/// Forgets the log, the script, and what accounts have had; their limits stay.
pub(crate) fn reset(shared: &Shared) -> io::Result<()> {
    // The empty script is valid.
    let _replaced = shared.engine.replace(Script::default());
    shared.limits.reset();
    shared.log.reset()
}

pub(crate) async fn health() -> Response {
    Json(json!({ "status": "ok" })).into_response()
}
