//! `tidings limits`: each account as the log has it.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tidings_edge::config::Config;
use tidings_edge::rate_limit::{HoldView, LimitLog, ScopeView, Target, View};

use super::log::{ANSWER, Log};
use super::options::LimitsOptions;
use super::words::{json_of, lines, millis, target, target_json, time};
use crate::exit::Exit;

pub(super) async fn run(options: &LimitsOptions) -> anyhow::Result<Exit> {
    let config = Config::load(options.config.config.as_deref())?;
    let (started, patience) = match options.ask {
        true => (LimitLog::operate(&config, None).await, ANSWER),
        false => (LimitLog::look(&config).await, Duration::ZERO),
    };
    let log = match Log::read(started, &config, patience).await? {
        Ok(log) => log,
        Err(absent) => {
            eprintln!("{}", absent.words(options.ask));
            return Ok(Exit::NothingMatched);
        }
    };
    let mut view = log.limits.view();
    log.close().await;
    if let Some(account) = &options.account {
        view.scopes.retain(|scope| scope.scope == *account);
    }
    if view.scopes.is_empty() {
        let account = options.account.as_deref().unwrap_or("any account");
        eprintln!(
            "the rate-limit topic does not know {account}; a dispatcher names its accounts when it starts"
        );
        return Ok(Exit::NothingMatched);
    }
    match options.json {
        true => print_json(&view),
        false => print_text(&view),
    }
    Ok(Exit::Done)
}

/// Holds of whole platforms, which are no account's.
fn addresses(view: &View) -> impl Iterator<Item = &HoldView> {
    view.holds
        .iter()
        .filter(|held| matches!(held.target, Target::Address { .. }))
}

fn print_text(view: &View) {
    println!(
        "log {}, version {} of the machine",
        view.log_id, view.machine_version
    );
    for scope in &view.scopes {
        println!("\n{}", scope.scope);
        for line in lines(&scope.limits) {
            println!("  limit    {line}");
        }
        println!("  now      {}", usage(scope));
        for waiter in &scope.waiting {
            let since = time(waiter.since.until(view.time));
            println!(
                "  waiting  worker {}: {} {} for {since}",
                waiter.incarnation,
                waiter.messages,
                waiter.class.name()
            );
        }
        for held in &scope.holds {
            println!("  held     {}", hold(held, view));
        }
    }
    for held in addresses(view) {
        println!("\nheld       {}", hold(held, view));
    }
}

fn usage(scope: &ScopeView) -> String {
    let free = match scope.free {
        Some(free) => format!("{free} free"),
        None => "no limit".into(),
    };
    format!(
        "{} used, {free}, {} chats in use",
        scope.used, scope.live_chats
    )
}

fn hold(held: &HoldView, view: &View) -> String {
    let left = left(held, view);
    let end = humantime::format_rfc3339_seconds(end(left));
    format!(
        "{} for {} (until about {end})",
        target(&held.target),
        time(left)
    )
}

fn left(held: &HoldView, view: &View) -> Duration {
    view.time.until(held.hold.until)
}

/// By this machine's clock; the log's own time stands still while no worker runs.
fn end(left: Duration) -> SystemTime {
    let far = Duration::from_secs(100 * 365 * 86_400);
    SystemTime::now() + left.min(far)
}

fn print_json(view: &View) {
    for scope in &view.scopes {
        let waiting = scope.waiting.iter().map(|waiter| {
            json!({
                "worker": waiter.incarnation,
                "class": waiter.class.name(),
                "messages": waiter.messages,
                "waited_ms": millis(waiter.since.until(view.time)),
            })
        });
        let waiting: Vec<Value> = waiting.collect();
        let holds: Vec<Value> = scope
            .holds
            .iter()
            .map(|held| hold_json(held, view))
            .collect();
        println!(
            "{}",
            json!({
                "account": scope.scope,
                "log_id": view.log_id,
                "limits": json_of(&scope.limits),
                "used": scope.used,
                "free": scope.free,
                "live_chats": scope.live_chats,
                "waiting": waiting,
                "holds": holds,
            })
        );
    }
    for held in addresses(view) {
        println!("{}", hold_json(held, view));
    }
}

fn hold_json(held: &HoldView, view: &View) -> Value {
    let left = left(held, view);
    let mut value = target_json(&held.target);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("remaining_ms".into(), millis(left).into());
        let ends_at = humantime::format_rfc3339_seconds(end(left)).to_string();
        fields.insert("ends_at".into(), ends_at.into());
        fields.insert("penalty_id".into(), json!(held.hold.id));
    }
    value
}
