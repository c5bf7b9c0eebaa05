//! `tidings deferred retry-now | dead-letter`: a change of the markers, which the partitions' owners see soon after.

use super::options::ChangeOptions;
use super::store::Deferred;
use super::{nothing_matched, open, words};
use crate::exit::Exit;
use crate::out::line;

/// With the operator's name it fits a dead letter's header, whose reason has at most 2,000 characters (design §10).
const MAX_REASON_BYTES: usize = 1_000;

/// The longest name of an operator.
const MAX_OPERATOR_BYTES: usize = 200;

pub(super) async fn retry_now(options: &ChangeOptions) -> anyhow::Result<Exit> {
    change(options, Change::RetryNow).await
}

pub(super) async fn dead_letter(options: &ChangeOptions) -> anyhow::Result<Exit> {
    change(options, Change::DeadLetter).await
}

#[derive(Clone, Copy)]
enum Change {
    RetryNow,
    DeadLetter,
}

async fn change(options: &ChangeOptions, change: Change) -> anyhow::Result<Exit> {
    if let Some(problem) = problem(options) {
        eprintln!("refused: {problem}; nothing was changed");
        return Ok(Exit::Refused);
    }
    let store = open(&options.common, &options.which).await?;
    let (operator, reason) = (options.operator.trim(), options.reason.trim());
    let changed = match (options.dry_run, change) {
        (true, Change::RetryNow | Change::DeadLetter) => store.list(u32::MAX).await?,
        (false, Change::RetryNow) => {
            let reason = format!("retry-now by {operator}: {reason}");
            store.retry_now(&reason).await?
        }
        (false, Change::DeadLetter) => {
            let reason = format!("given up by {operator}: {reason}");
            store.give_up(&reason).await?
        }
    };
    if changed.is_empty() {
        return Ok(nothing_matched());
    }
    print(&changed, options);
    Ok(Exit::Done)
}

fn print(changed: &[Deferred], options: &ChangeOptions) {
    for deferred in changed {
        match options.common.json {
            true => line(words::as_json(deferred)),
            false => line(words::line(deferred)),
        }
    }
    if options.dry_run {
        eprintln!(
            "{} deferred chats match; nothing was changed",
            changed.len()
        );
    }
}

/// The bounds of what is kept.
fn problem(options: &ChangeOptions) -> Option<String> {
    let bounded = |name: &str, text: &str, most: usize| {
        let fits = !text.trim().is_empty() && text.len() <= most;
        (!fits).then(|| format!("{name}: give 1 to {most} bytes"))
    };
    bounded("--reason", &options.reason, MAX_REASON_BYTES)
        .or_else(|| bounded("--operator", &options.operator, MAX_OPERATOR_BYTES))
}
