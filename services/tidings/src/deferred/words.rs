//! Deferrals in words and as JSON.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::store::{Deferred, Message};

/// What a deferred chat is at: its word in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// An operator gave its messages up.
    GivenUp,
    /// Until an operator lets go.
    Held,
    /// Its time is there.
    Due,
    Waiting,
}

impl State {
    fn of(deferred: &Deferred) -> Self {
        match (&deferred.give_up_reason, deferred.due_seconds) {
            (Some(_), _) => Self::GivenUp,
            (None, None) => Self::Held,
            (None, Some(seconds)) if seconds <= 0.0 => Self::Due,
            (None, Some(_)) => Self::Waiting,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::GivenUp => "given_up",
            Self::Held => "held",
            Self::Due => "due",
            Self::Waiting => "waiting",
        }
    }
}

/// One line a chat.
pub(super) fn line(deferred: &Deferred) -> String {
    let Deferred {
        topic, partition, ..
    } = deferred;
    let seen = match deferred.change_is_new {
        true => " (changed; no worker has seen it yet)",
        false => "",
    };
    format!(
        "{}  {topic}/{partition}  {}  {}{seen}: {}",
        deferred.chat,
        counted(deferred.messages),
        until(deferred),
        deferred
            .give_up_reason
            .as_deref()
            .unwrap_or(&deferred.reason)
    )
}

fn counted(messages: i64) -> String {
    match messages {
        1 => "1 message".into(),
        messages => format!("{messages} messages"),
    }
}

fn until(deferred: &Deferred) -> String {
    match State::of(deferred) {
        State::GivenUp => "given up".into(),
        State::Held => "held until `tidings deferred retry-now` or `dead-letter`".into(),
        State::Due => "due".into(),
        State::Waiting => format!("due in {}", wait(deferred.due_seconds.unwrap_or(0.0))),
    }
}

fn wait(seconds: f64) -> humantime::FormattedDuration {
    let whole = Duration::try_from_secs_f64(seconds.ceil()).unwrap_or(Duration::ZERO);
    humantime::format_duration(whole)
}

/// platform:alias and the chat id of a chat key.
fn parts(chat: &str) -> (&str, &str) {
    let mut colons = chat.match_indices(':');
    let second = colons.nth(1).map(|(place, _)| place);
    second.map_or((chat, ""), |place| (&chat[..place], &chat[place + 1..]))
}

pub(super) fn as_json(deferred: &Deferred) -> Value {
    let (account, chat_id) = parts(&deferred.chat);
    json!({
        "chat": deferred.chat,
        "account": account,
        "chat_id": chat_id,
        "topic": deferred.topic,
        "partition": deferred.partition,
        "state": State::of(deferred).word(),
        "messages": deferred.messages,
        "due_at": deferred.due_at.map(time),
        "deferred_at": time(deferred.deferred_at),
        "reason": deferred.reason,
        "give_up_reason": deferred.give_up_reason,
        "seen": !deferred.change_is_new,
    })
}

pub(super) fn message_line(message: &Message) -> String {
    let attempts = match message.first_failed_at {
        Some(since) => format!("{} attempts since {}", message.attempts, time(since)),
        None => "no attempt yet".into(),
    };
    format!(
        "  offset {}  {}  {}  {} bytes  deferred at {}  {attempts}",
        message.offset,
        message.message_id,
        message.event_type,
        message.bytes,
        time(message.deferred_at)
    )
}

pub(super) fn message_json(message: &Message) -> Value {
    json!({
        "chat": message.chat,
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "message_id": message.message_id,
        "event_type": message.event_type,
        "bytes": message.bytes,
        "deferred_at": time(message.deferred_at),
        "attempts": message.attempts,
        "first_failed_at": message.first_failed_at.map(time),
    })
}

fn time(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deferred(due_seconds: Option<f64>, give_up_reason: Option<&str>) -> Deferred {
        Deferred {
            topic: "tidings.telegram.normal".into(),
            partition: 3,
            chat: "telegram:main:-100".into(),
            due_at: due_seconds.map(|_| SystemTime::UNIX_EPOCH),
            due_seconds,
            reason: "Too Many Requests".into(),
            deferred_at: SystemTime::UNIX_EPOCH,
            change_is_new: false,
            give_up_reason: give_up_reason.map(str::to_owned),
            messages: 2,
        }
    }

    #[test]
    fn each_state_is_told_with_what_follows() {
        let place = "telegram:main:-100  tidings.telegram.normal/3  2 messages  ";
        for (deferral, told) in [
            (
                deferred(Some(61.2), None),
                "due in 1m 2s: Too Many Requests",
            ),
            (deferred(Some(-5.0), None), "due: Too Many Requests"),
            (
                deferred(None, None),
                "held until `tidings deferred retry-now` or `dead-letter`: Too Many Requests",
            ),
            (
                deferred(Some(0.0), Some("op: wrong chat")),
                "given up: op: wrong chat",
            ),
        ] {
            assert_eq!(line(&deferral), format!("{place}{told}"));
        }
    }

    #[test]
    fn a_chat_id_keeps_its_colons() {
        assert_eq!(parts("telegram:main:-100"), ("telegram:main", "-100"));
        assert_eq!(parts("webhook:shop:a:b"), ("webhook:shop", "a:b"));
        assert_eq!(parts("odd"), ("odd", ""));
        let json = as_json(&deferred(None, None));
        assert_eq!(json["account"], "telegram:main");
        assert_eq!(json["state"], "held");
        assert!(json["due_at"].is_null());
    }
}
