//! The rules of `[accounts]`.

use super::{Problems, human, is_http_url};
use crate::config::{AccountConfig, Config, DispatcherConfig};

pub(super) fn accounts(config: &Config, problems: &mut Problems) {
    for (alias, account) in &config.accounts {
        one(alias, account, &config.dispatcher, problems);
    }
    shared_credentials(config, problems);
}

/// One credential under two aliases would double its limit at the platform (requirement L7).
fn shared_credentials(config: &Config, problems: &mut Problems) {
    let with_token = || {
        config
            .accounts
            .iter()
            .filter(|(_, account)| account.token.is_some())
    };
    for (position, (alias, account)) in with_token().enumerate() {
        let earlier = with_token()
            .take(position)
            .find(|(_, other)| other.token == account.token && other.base_url == account.base_url);
        if let Some((other, _)) = earlier {
            problems.unless(
                false,
                &format!("accounts.\"{alias}\".token_file"),
                "(not shown)",
                format!("has the same credential as account {other}; keep one of the two"),
            );
        }
    }
}

fn one(
    alias: &str,
    account: &AccountConfig,
    dispatcher: &DispatcherConfig,
    problems: &mut Problems,
) {
    let key = |name: &str| format!("accounts.\"{alias}\".{name}");
    problems.unless(
        is_account_alias(alias),
        &key("*"),
        alias,
        "name an account platform:alias, in small letters, digits, '-' and '_'",
    );
    problems.unless(
        account.token.is_some(),
        &key("token_file"),
        "(not set)",
        "set token_file or token_env",
    );
    problems.unless(
        account.base_url.as_deref().is_none_or(is_http_url),
        &key("base_url"),
        "(not shown: it may hold a token)",
        "use http:// or https:// and a host, without the token",
    );
    if let Some(deadline) = account.call_deadline {
        problems.unless(
            !deadline.is_zero() && deadline <= dispatcher.call_deadline,
            &key("call_deadline"),
            human(deadline),
            "must be longer than nothing and at most dispatcher.call_deadline, which the lease is made for",
        );
    }
    if let Some(calls) = account.max_in_flight_calls {
        problems.positive_size(&key("max_in_flight_calls"), calls);
    }
    limits(alias, account, problems);
}

fn limits(alias: &str, account: &AccountConfig, problems: &mut Problems) {
    let platform = alias
        .split_once(':')
        .map_or(alias, |(platform, _)| platform);
    let proposed = account
        .limits
        .as_ref()
        .map(|limits| limits.scope_limits(platform));
    if let Some(Err(error)) = proposed {
        let key = format!("accounts.\"{alias}\".limits");
        problems.unless(false, &key, "(see there)", error);
    }
}

fn is_account_alias(alias: &str) -> bool {
    let plain = |part: &str| {
        (1..=64).contains(&part.len())
            && part
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'))
    };
    alias
        .split_once(':')
        .is_some_and(|(platform, name)| plain(platform) && plain(name))
}
