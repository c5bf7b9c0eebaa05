//! `tidings targets clear`.

use serde_json::json;
use tidings_edge::targets::TargetName;

use super::options::{ClearOptions, account};
use super::{open, refuse};
use crate::exit::Exit;
use crate::out::line;

/// With the operator's name it stays far below the 2,000 characters that are kept.
const MAX_REASON_BYTES: usize = 1_000;

/// The longest name of an operator.
const MAX_OPERATOR_BYTES: usize = 200;

pub(super) async fn run(options: &ClearOptions) -> anyhow::Result<Exit> {
    if let Some(problem) = problem(options) {
        return Ok(refuse(&problem));
    }
    let Some((platform, alias)) = account(&options.account) else {
        return Ok(refuse("the account: give it as platform:alias"));
    };
    let (operator, reason) = (options.operator.trim(), options.reason.trim());
    let reason = format!("cleared by {operator}: {reason}");
    let store = open(&options.config)?;
    let cleared = match &options.chat {
        None => store.all_alive(platform, alias, &reason).await?,
        Some(chat) => {
            let name = TargetName {
                platform: platform.to_owned(),
                account: alias.to_owned(),
                chat_id: chat.clone(),
                thread_id: options.thread.clone().unwrap_or_default(),
            };
            u64::from(store.alive(&name, &reason).await?)
        }
    };
    if cleared == 0 {
        eprintln!(
            "no such target is known to be dead or to have moved; `tidings targets list` shows all"
        );
        return Ok(Exit::NothingMatched);
    }
    print(options, cleared);
    Ok(Exit::Done)
}

fn print(options: &ClearOptions, cleared: u64) {
    if options.json {
        line(json!({
            "account": options.account,
            "chat_id": options.chat,
            "thread_id": options.thread,
            "cleared": cleared,
        }));
    } else {
        line(format_args!(
            "{}: {cleared} cleared; every worker knows within 2 s",
            options.account
        ));
    }
}

/// The bounds of what is kept.
fn problem(options: &ClearOptions) -> Option<String> {
    let bounded = |name: &str, text: &str, most: usize| {
        let fits = !text.trim().is_empty() && text.len() <= most;
        (!fits).then(|| format!("{name}: give 1 to {most} bytes"))
    };
    bounded("--reason", &options.reason, MAX_REASON_BYTES)
        .or_else(|| bounded("--operator", &options.operator, MAX_OPERATOR_BYTES))
}
