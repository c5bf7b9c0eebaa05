//! `tidings targets list`.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tidings_edge::targets::{TargetKind, TargetRow};

use super::options::{ListOptions, account};
use super::{open, refuse};
use crate::exit::Exit;
use crate::out::line;

pub(super) async fn run(options: &ListOptions) -> anyhow::Result<Exit> {
    let only = options.account.as_deref().map(account);
    if only == Some(None) {
        return Ok(refuse("--account: give it as platform:alias"));
    }
    let most = i64::from(options.limit);
    let mut found = open(&options.config)?
        .list(only.flatten(), most.saturating_add(1))
        .await?;
    if found.is_empty() {
        eprintln!("no target is known to be dead or to have moved");
        return Ok(Exit::NothingMatched);
    }
    let most = usize::try_from(options.limit).unwrap_or(usize::MAX);
    let more = found.len() > most;
    found.truncate(most);
    for row in &found {
        match options.json {
            true => line(as_json(row)),
            false => line(as_text(row)),
        }
    }
    if more {
        eprintln!("there are more than {most}; --limit shows them, or name an account");
    }
    Ok(Exit::Done)
}

fn as_text(row: &TargetRow) -> String {
    let name = &row.name;
    let thread = match name.thread_id.as_str() {
        "" => String::new(),
        thread => format!(" thread {thread}"),
    };
    let what = match &row.kind {
        TargetKind::Migrated { new_chat_id } => format!("moved to {new_chat_id}"),
        TargetKind::Dead { probe, probes } => {
            let next = match probe {
                Some(left) => format!("next probe in {}", rounded(*left)),
                None => "no probe; `tidings targets clear` ends it".into(),
            };
            format!("dead, {probes} probes, {next}")
        }
        TargetKind::Alive => "alive".into(),
    };
    let since = humantime::format_rfc3339_seconds(row.since);
    format!(
        "{}:{} chat {}{thread}: {what}; since {since}: {}",
        name.platform, name.account, name.chat_id, row.reason
    )
}

fn rounded(time: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(Duration::from_secs(time.as_secs()))
}

fn as_json(row: &TargetRow) -> Value {
    let name = &row.name;
    let mut value = json!({
        "account": format!("{}:{}", name.platform, name.account),
        "chat_id": name.chat_id,
        "thread_id": (!name.thread_id.is_empty()).then_some(&name.thread_id),
        "kind": row.kind.word(),
        "since": time(row.since),
        "changed_at": time(row.changed_at),
        "reason": row.reason,
    });
    let more = match &row.kind {
        TargetKind::Migrated { new_chat_id } => vec![("new_chat_id", json!(new_chat_id))],
        TargetKind::Dead { probe, probes } => {
            let left_ms = probe.map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
            vec![("probes", json!(probes)), ("probe_in_ms", json!(left_ms))]
        }
        TargetKind::Alive => Vec::new(),
    };
    if let Some(fields) = value.as_object_mut() {
        fields.extend(more.into_iter().map(|(key, value)| (key.to_owned(), value)));
    }
    value
}

fn time(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at).to_string()
}
