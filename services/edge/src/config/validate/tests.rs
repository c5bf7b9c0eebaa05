use std::time::Duration;

use crate::config::{AccountConfig, Config, Secret, SecurityProtocol};

/// The keys of the problems after one change of the defaults.
fn problems(change: impl FnOnce(&mut Config)) -> Vec<String> {
    let mut config = Config::defaults().unwrap();
    change(&mut config);
    let problems = config.validate().err().unwrap_or_default();
    problems.into_iter().map(|problem| problem.key).collect()
}

#[test]
fn a_lease_that_no_call_fits_into_is_refused_with_the_sum() {
    let mut config = Config::defaults().unwrap();
    config.dispatcher.lease = Duration::from_secs(32);
    let found = config.validate().unwrap_err();
    assert_eq!(found.len(), 1);
    let text = found[0].to_string();
    assert!(text.starts_with("dispatcher.lease = 32s:"), "{text}");
    assert!(text.contains("32s)"), "{text}");
}

#[test]
fn claims_must_outlive_the_longest_retention_by_a_day() {
    assert_eq!(
        problems(|c| c.dispatcher.dedupe_retention_days = 30),
        ["dispatcher.dedupe_retention_days"]
    );
    assert!(problems(|c| c.dispatcher.dedupe_retention_days = 31).is_empty());
    assert_eq!(
        problems(|c| c.kafka.lane_retention = Duration::from_secs(40 * 86_400)),
        ["dispatcher.dedupe_retention_days"]
    );
}

#[test]
fn values_out_of_range_are_named() {
    type Change = fn(&mut Config);
    let cases: [(&str, Change); 20] = [
        ("kafka.brokers", |c| c.kafka.brokers = " ".into()),
        ("kafka.prefix", |c| c.kafka.prefix = "a/b".into()),
        ("kafka.partitions", |c| c.kafka.partitions = 0),
        ("kafka.replication_factor", |c| {
            c.kafka.replication_factor = 0
        }),
        ("kafka.session_timeout", |c| {
            c.kafka.session_timeout = Duration::ZERO
        }),
        ("state.database", |c| {
            c.state.database = Secret::new("mysql://h/d")
        }),
        ("registry.url", |c| c.registry.url = "http://u:p@h".into()),
        ("registry.cache_entries", |c| c.registry.cache_entries = 0),
        ("relay.payload_bytes", |c| c.relay.payload_bytes = 1_048_576),
        ("relay.max_in_flight_rows", |c| {
            c.relay.max_in_flight_rows = 1
        }),
        ("relay.poll_max", |c| c.relay.poll_max = Duration::ZERO),
        ("relay.streams", |c| c.relay.streams = vec!["a b".into()]),
        ("dispatcher.platforms", |c| c.dispatcher.platforms.clear()),
        ("dispatcher.max_bytes", |c| c.dispatcher.max_bytes = 0),
        ("dispatcher.hold_in_memory", |c| {
            c.dispatcher.hold_in_memory = Duration::ZERO
        }),
        ("dispatcher.deferred_poll", |c| {
            c.dispatcher.deferred_poll = Duration::from_millis(1)
        }),
        ("dispatcher.deferred_loads", |c| {
            c.dispatcher.deferred_loads = 0
        }),
        ("dispatcher.deferred_batch_bytes", |c| {
            c.dispatcher.deferred_batch_bytes = usize::MAX
        }),
        ("dispatcher.retry.standard.jitter", |c| {
            c.dispatcher.retry.standard.jitter = f64::NAN
        }),
        ("dispatcher.retry.standard.attempts", |c| {
            c.dispatcher.retry.standard.attempts = 0
        }),
    ];
    for (key, change) in cases {
        assert_eq!(problems(change), [key]);
    }
}

#[test]
fn sasl_wants_all_of_its_keys() {
    let change = |c: &mut Config| c.kafka.security.protocol = SecurityProtocol::SaslSsl;
    assert_eq!(problems(change), ["kafka.security.protocol"]);
}

#[test]
fn accounts_are_checked_without_printing_what_they_hold() {
    let mut config = Config::defaults().unwrap();
    let account = AccountConfig {
        base_url: Some("ftp://canary".into()),
        call_deadline: Some(Duration::from_secs(31)),
        ..AccountConfig::default()
    };
    config.accounts.insert("Telegram".into(), account);
    let found = config.validate().unwrap_err();
    let keys: Vec<&str> = found.iter().map(|problem| problem.key.as_str()).collect();
    let expected = ["*", "token_file", "base_url", "call_deadline"]
        .map(|key| format!("accounts.\"Telegram\".{key}"));
    assert_eq!(keys, expected);
    assert!(!format!("{found:?}").contains("canary"));
}

#[test]
fn two_aliases_with_one_credential_are_refused_naming_both() {
    let mut config = Config::defaults().unwrap();
    let account = AccountConfig {
        token: Some(Secret::new("canary")),
        ..AccountConfig::default()
    };
    config
        .accounts
        .insert("telegram:main".into(), account.clone());
    assert_eq!(config.validate(), Ok(()));
    config.accounts.insert("telegram:other".into(), account);
    let found = config.validate().unwrap_err();
    let text = found[0].to_string();
    assert!(
        text.contains("telegram:other") && text.contains("telegram:main"),
        "{text}"
    );
    assert!(!text.contains("canary"), "{text}");
}

#[test]
fn one_credential_is_one_however_its_address_is_written() {
    let refused = |first: Option<&str>, second: Option<&str>| {
        let account = |base_url: Option<&str>| AccountConfig {
            token: Some(Secret::new("canary")),
            base_url: base_url.map(str::to_owned),
            ..AccountConfig::default()
        };
        problems(|config| {
            let accounts = &mut config.accounts;
            accounts.insert("telegram:main".into(), account(first));
            accounts.insert("telegram:other".into(), account(second));
        })
    };
    let plain = Some("https://api.telegram.org");
    for same in [
        None,
        Some("https://api.telegram.org/"),
        Some("HTTPS://API.Telegram.org"),
        Some("https://api.telegram.org:443"),
        Some("https://api.telegram.org."),
        Some("https://API.telegram.org.:443//"),
    ] {
        let expected = ["accounts.\"telegram:other\".token_file"];
        assert_eq!(refused(plain, same), expected, "{same:?}");
    }
    for other in [
        Some("https://api.telegram.org:8443"),
        Some("https://api.telegram.org/bots"),
        Some("http://127.0.0.1:8081"),
    ] {
        assert!(refused(plain, other).is_empty(), "{other:?}");
    }
    assert_eq!(
        refused(
            Some("http://127.0.0.1:80/bots/"),
            Some("http://127.0.0.1/bots")
        )
        .len(),
        1
    );
}
