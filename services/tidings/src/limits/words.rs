//! Limits and targets in words and as JSON.

use std::time::Duration;

use serde_json::{Value, json};
use tidings_edge::rate_limit::{Limit, Rule, ScopeLimits, Target};

/// One line a level.
pub(super) fn lines(limits: &ScopeLimits) -> Vec<String> {
    let levels = [
        (&limits.scope, "the account"),
        (&limits.chat, "each chat"),
        (&limits.group, "each group"),
    ];
    let lines = levels.into_iter().filter(|(rules, _)| !rules.is_empty());
    let lines: Vec<String> = lines
        .map(|(rules, over)| {
            let rules: Vec<String> = rules.iter().map(rule).collect();
            format!("{over}: {}", rules.join(", "))
        })
        .collect();
    match lines.as_slice() {
        [] => vec!["none".into()],
        [..] => lines,
    }
}

fn rule(rule: &Rule) -> String {
    let limit = match rule.limit {
        Limit::Window { count, period } => format!("{count} in any {}", time(period)),
        Limit::TokenBucket {
            micro_tokens_per_second,
            burst,
            cost,
        } => {
            let each = match cost {
                1 => String::new(),
                cost => format!(", {cost} a message"),
            };
            format!(
                "{} tokens a second, at most {burst}{each}",
                rate(micro_tokens_per_second)
            )
        }
        Limit::Spacing { delay } => format!("{} apart", time(delay)),
    };
    match Rule::new(rule.limit).headroom_permille == rule.headroom_permille {
        true => limit,
        false => format!(
            "{limit} (of which {:.1} % are used)",
            f64::from(rule.headroom_permille) / 10.0
        ),
    }
}

fn rate(micro_tokens_per_second: u64) -> String {
    let (whole, millionths) = (
        micro_tokens_per_second / 1_000_000,
        micro_tokens_per_second % 1_000_000,
    );
    match millionths {
        0 => whole.to_string(),
        _ => format!("{whole}.{millionths:06}")
            .trim_end_matches('0')
            .to_owned(),
    }
}

pub(super) fn time(time: Duration) -> String {
    let coarse = match time {
        short if short < Duration::from_secs(10) => {
            Duration::from_millis(u64::try_from(short.as_millis()).unwrap_or(0))
        }
        long => Duration::from_secs(long.as_secs()),
    };
    humantime::format_duration(coarse).to_string()
}

pub(super) fn json_of(limits: &ScopeLimits) -> Value {
    let level = |rules: &[Rule]| rules.iter().map(rule_json).collect::<Vec<Value>>();
    json!({
        "account": level(&limits.scope),
        "chat": level(&limits.chat),
        "group": level(&limits.group),
    })
}

fn rule_json(rule: &Rule) -> Value {
    let headroom = f64::from(rule.headroom_permille) / 1_000.0;
    match rule.limit {
        Limit::Window { count, period } => {
            json!({"kind": "window", "count": count, "period_ms": millis(period), "headroom": headroom})
        }
        Limit::TokenBucket {
            micro_tokens_per_second,
            burst,
            cost,
        } => json!({
            "kind": "token_bucket",
            "micro_tokens_per_second": micro_tokens_per_second,
            "burst": burst,
            "cost": cost,
            "headroom": headroom,
        }),
        Limit::Spacing { delay } => {
            json!({"kind": "spacing", "delay_ms": millis(delay), "headroom": headroom})
        }
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn target(target: &Target) -> String {
    match target {
        Target::Chat { scope, chat } | Target::Unnamed { scope, chat } => {
            format!("chat {chat} of {scope}")
        }
        Target::Account { scope } => format!("account {scope}"),
        Target::Address { platform } => format!("our address at {platform}"),
    }
}

pub(super) fn target_json(target: &Target) -> Value {
    match target {
        Target::Chat { scope, chat } | Target::Unnamed { scope, chat } => {
            json!({"held": "chat", "account": scope, "chat_id": chat})
        }
        Target::Account { scope } => json!({"held": "account", "account": scope}),
        Target::Address { platform } => json!({"held": "address", "platform": platform}),
    }
}

#[cfg(test)]
mod tests {
    use tidings_edge::config::LimitsProposal;

    use super::*;

    #[test]
    fn limits_are_told_a_level_a_line() {
        let proposal = LimitsProposal {
            preset: Some("telegram-source".into()),
            ..LimitsProposal::default()
        };
        let limits = proposal.scope_limits("telegram").unwrap();
        let expected = [
            "the account: 30 in any 1s, 25 tokens a second, at most 30",
            "each chat: 1 in any 1s, 50ms apart",
            "each group: 20 in any 1m",
        ];
        assert_eq!(lines(&limits), expected);
    }

    #[test]
    fn another_headroom_is_told() {
        let proposal = LimitsProposal {
            headroom: Some(0.5),
            rate: Some(0.25),
            exact: Some(false),
            ..LimitsProposal::default()
        };
        let limits = proposal.scope_limits("webhook").unwrap();
        assert_eq!(
            lines(&limits),
            ["the account: 0.25 tokens a second, at most 1 (of which 50.0 % are used)"]
        );
    }
}
