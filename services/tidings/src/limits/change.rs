//! `tidings limits set | penalise | reset`: a record in the log, by name and with a reason.

use anyhow::Context as _;
use serde_json::{Value, json};
use tidings_edge::config::Config;
use tidings_edge::postgres;
use tidings_edge::rate_limit::{
    LimitLog, MAX_NAME_BYTES, MAX_OPERATOR_BYTES, MAX_REASON_BYTES, Operation, PenaltyStore, Target,
};

use super::log::{ANSWER, Absent, Log};
use super::options::{PenaliseOptions, ResetOptions, SetOptions, Who, platform};
use super::words::{json_of, lines, millis, target, target_json, time};
use crate::exit::Exit;

/// Connections to the state database.
const CONNECTIONS: usize = 2;

pub(super) async fn set(options: &SetOptions) -> anyhow::Result<Exit> {
    let proposed = options.proposal().scope_limits(platform(&options.account));
    let limits = match proposed {
        Ok(limits) => limits,
        Err(error) => return Ok(refuse(&error.to_string())),
    };
    let operation = Operation::SetLimits {
        scope: options.account.clone(),
        limits: limits.clone(),
        operator: options.who.operator.clone(),
        reason: options.who.reason.clone(),
    };
    let told = Told {
        text: format!("{}: {}", options.account, lines(&limits).join("; ")),
        json: json!({"account": options.account, "limits": json_of(&limits)}),
    };
    append(&options.who, &options.account, operation, told).await
}

pub(super) async fn penalise(options: &PenaliseOptions) -> anyhow::Result<Exit> {
    if options.wait.is_zero() {
        return Ok(refuse(
            "--for: must be longer than nothing; `tidings limits reset` ends a hold",
        ));
    }
    let held = options.what.target();
    let operation = Operation::Penalise {
        target: held.clone(),
        wait: options.wait,
        operator: options.who.operator.clone(),
        reason: options.who.reason.clone(),
    };
    let told = Told {
        text: format!("{}: held for {}", target(&held), time(options.wait)),
        json: with(
            target_json(&held),
            "remaining_ms",
            millis(options.wait).into(),
        ),
    };
    append(&options.who, &options.what.account, operation, told).await
}

pub(super) async fn reset(options: &ResetOptions) -> anyhow::Result<Exit> {
    let held = options.what.target();
    let operation = Operation::Reset {
        target: held.clone(),
        operator: options.who.operator.clone(),
        reason: options.who.reason.clone(),
    };
    let told = Told {
        text: format!("{}: not held any more", target(&held)),
        json: with(target_json(&held), "remaining_ms", 0.into()),
    };
    append(&options.who, &options.what.account, operation, told).await
}

/// What is printed once it is done.
struct Told {
    text: String,
    json: Value,
}

/// Appends the record, and waits until it was read back: then every worker that can read has it.
async fn append(
    who: &Who,
    account: &str,
    operation: Operation,
    told: Told,
) -> anyhow::Result<Exit> {
    if let Some(problem) = problem(who, &operation) {
        return Ok(refuse(&problem));
    }
    let config = Config::load(who.config.config.as_deref())?;
    let pool = postgres::pool(&config.state, "tidings-limits", CONNECTIONS)?;
    let started = LimitLog::operate(&config, Some(pool.clone())).await;
    let log = match Log::read(started, &config, ANSWER).await? {
        Ok(log) => log,
        Err(absent) => return Ok(nothing_changed(&absent)),
    };
    if !log
        .limits
        .view()
        .scopes
        .iter()
        .any(|scope| scope.scope == account)
    {
        log.close().await;
        return Ok(unknown(account));
    }
    if let Operation::Reset { target, .. } = &operation {
        // First, so that no worker that starts meanwhile says it again.
        let forgotten = PenaltyStore::new(pool).forget(target).await;
        forgotten
            .context("the penalty is kept in the state database, and stays; nothing was changed")?;
    }
    let recorded = log
        .limits
        .operate(operation)
        .recorded(config.kafka.admin_timeout)
        .await;
    log.close().await;
    anyhow::ensure!(
        recorded,
        "the record was not read back within kafka.admin_timeout; it may still take effect: look with `tidings limits`"
    );
    match who.json {
        true => println!("{}", told.json),
        false => println!("{}", told.text),
    }
    Ok(Exit::Done)
}

/// The bounds of what a record holds.
fn problem(who: &Who, operation: &Operation) -> Option<String> {
    let bounded = |name: &str, text: &str, most: usize| {
        let fits = !text.trim().is_empty() && text.len() <= most;
        (!fits).then(|| format!("{name}: give 1 to {most} bytes"))
    };
    let chat = match operation {
        Operation::Penalise { target, .. } | Operation::Reset { target, .. } => chat(target),
        Operation::SetLimits { .. } => None,
    };
    bounded("--reason", &who.reason, MAX_REASON_BYTES)
        .or_else(|| bounded("--operator", &who.operator, MAX_OPERATOR_BYTES))
        .or_else(|| bounded("--chat", chat?, MAX_NAME_BYTES))
}

fn chat(target: &Target) -> Option<&str> {
    match target {
        Target::Chat { chat, .. } | Target::Unnamed { chat, .. } => Some(chat),
        Target::Account { .. } | Target::Address { .. } => None,
    }
}

fn with(mut value: Value, key: &str, more: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(key.to_owned(), more);
    }
    value
}

fn refuse(problem: &str) -> Exit {
    eprintln!("refused: {problem}; nothing was changed");
    Exit::Refused
}

fn nothing_changed(absent: &Absent) -> Exit {
    eprintln!("{}; nothing was changed", absent.words(true));
    Exit::NothingMatched
}

fn unknown(account: &str) -> Exit {
    eprintln!(
        "the rate-limit topic does not know account {account}; a dispatcher names its accounts when it starts, and `tidings limits` shows them"
    );
    Exit::NothingMatched
}
