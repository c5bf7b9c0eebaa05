//! The rules of `[accounts]`.

use reqwest::Url;
use tidings_platforms::telegram;

use super::{Problems, human, is_http_url};
use crate::config::{AccountConfig, Config, DispatcherConfig};

pub(super) fn accounts(config: &Config, problems: &mut Problems) {
    for (alias, account) in &config.accounts {
        one(alias, account, &config.dispatcher, problems);
    }
    shared_credentials(config, problems);
}

/// One credential under two aliases would double its limit at the platform (requirement L7), however its address is
/// written.
fn shared_credentials(config: &Config, problems: &mut Problems) {
    let with_token = || {
        config
            .accounts
            .iter()
            .filter(|(_, account)| account.token.is_some())
    };
    for (position, (alias, account)) in with_token().enumerate() {
        let earlier = with_token().take(position).find(|(other_alias, other)| {
            other.token == account.token && address(other_alias, other) == address(alias, account)
        });
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

/// Where an account's calls go, in one way of writing: the host in small letters and without a last dot, no port that
/// goes without saying, no slash at the end. What is no URL stays as it is; it is refused anyway.
fn address(alias: &str, account: &AccountConfig) -> Option<String> {
    let written = match account.base_url.as_deref() {
        Some(written) => written,
        None if platform(alias) == "telegram" => telegram::DEFAULT_BASE_URL,
        None => return None,
    };
    let Ok(url) = Url::parse(written) else {
        return Some(written.to_owned());
    };
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let port = url.port_or_known_default().unwrap_or_default();
    let path = url.path().trim_end_matches('/');
    Some(format!("{}://{host}:{port}{path}", url.scheme()))
}

fn platform(alias: &str) -> &str {
    alias
        .split_once(':')
        .map_or(alias, |(platform, _)| platform)
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
    let proposed = account
        .limits
        .as_ref()
        .map(|limits| limits.scope_limits(platform(alias)));
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
