use std::fs;

use super::*;

/// A configuration of one file's text over the defaults, without the process' variables.
fn from_text(text: &str) -> Result<Config, ConfigError> {
    let layers = Layers::defaults().map_err(shape)?;
    let layers = layers.with_file(Path::new("tidings.toml"), text);
    extract(&layers.map_err(shape)?.merged())
}

fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |&cause| cause.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

#[test]
fn the_defaults_are_whole_and_valid() {
    let config = Config::defaults().unwrap();
    assert_eq!(config.validate(), Ok(()));
    assert_eq!(config.kafka.partitions, 12);
    assert_eq!(config.dispatcher.lease, std::time::Duration::from_secs(40));
    assert_eq!(config.dispatcher.retry.interactive.delays.len(), 3);
    assert_eq!(config.relay.tuning, crate::config::RelayTuning::default());
}

#[test]
fn every_key_of_the_defaults_has_a_comment_above_it_or_its_group() {
    let mut commented = false;
    for line in DEFAULT_TOML.lines() {
        match line.chars().next() {
            Some('#') => commented = true,
            Some('[') | None => commented = false,
            Some(_) => assert!(commented, "no comment above: {line}"),
        }
    }
}

#[test]
fn an_unknown_key_is_named() {
    let error = from_text("[kafka]\nbroker = \"x\"").unwrap_err();
    let text = chain(&error);
    assert!(text.contains("broker") && text.contains("kafka"), "{text}");
}

#[test]
fn a_value_of_the_wrong_type_names_its_key_and_is_not_printed() {
    let error = from_text("[dispatcher]\nclaim_batch = \"canary\"").unwrap_err();
    let text = format!("{} {error:?}", chain(&error));
    assert!(text.contains("claim_batch"), "{text}");
    assert!(!text.contains("canary"), "{text}");
}

#[test]
fn a_token_in_the_open_is_refused_with_a_remedy() {
    let error = from_text("[accounts.\"telegram:main\"]\ntoken = \"canary\"").unwrap_err();
    let text = format!("{} {error:?}", chain(&error));
    assert!(text.contains("accounts.\"telegram:main\".token"), "{text}");
    assert!(text.contains("_file or _env"), "{text}");
    assert!(!text.contains("canary"), "{text}");
}

#[test]
fn a_password_in_a_files_database_url_is_refused() {
    let error = from_text("[state]\ndatabase = \"postgres://u:canary@h/db\"").unwrap_err();
    let text = format!("{} {error:?}", chain(&error));
    assert!(
        text.contains("state.database") && text.contains("database_file"),
        "{text}"
    );
    assert!(!text.contains("canary"), "{text}");
}

#[test]
fn secrets_come_from_files() {
    let folder = std::env::temp_dir().join(format!("tidings-edge-load-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (token, url) = (folder.join("token"), folder.join("url"));
    fs::write(&token, "canary\n").unwrap();
    fs::write(&url, "postgres://u:canary@h/db\n").unwrap();
    let config = from_text(&format!(
        "[state]\ndatabase_file = {url:?}\n[accounts.\"telegram:main\"]\ntoken_file = {token:?}"
    ))
    .unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let account = &config.accounts["telegram:main"];
    assert_eq!(account.token, Some(Secret::new("canary")));
    assert_eq!(config.state.database.expose(), "postgres://u:canary@h/db");
    assert!(!format!("{config:?}").contains("canary"));
}

#[test]
fn a_secret_that_is_not_there_names_the_key() {
    let text = "[accounts.\"telegram:main\"]\ntoken_env = \"TIDINGS_TEST_NO_SUCH_VARIABLE\"";
    let error = from_text(text).unwrap_err();
    assert!(error.to_string().contains("token_env"), "{error}");
}

#[test]
#[allow(clippy::result_large_err)] // figment's test harness asks for its own error.
fn variables_win_over_files_and_may_hold_a_password() {
    figment::Jail::expect_with(|jail| {
        jail.create_file("tidings.toml", "[kafka]\nprefix = \"file\"\npartitions = 3")?;
        jail.set_env("TIDINGS_KAFKA__PREFIX", "variable");
        jail.set_env("TIDINGS_STATE__DATABASE", "postgres://u:canary@h/db");
        jail.set_env("TIDINGS_RELAY__STREAMS", "[\"order\"]");
        jail.set_env("TIDINGS_DISPATCHER__RETRY__STANDARD__BASE", "7s");
        jail.set_env("TIDINGS_TOKEN", "not a setting");
        let config = Config::load(Some(Path::new("tidings.toml"))).unwrap();
        assert_eq!(config.kafka.prefix, "variable");
        assert_eq!(config.kafka.partitions, 3);
        assert_eq!(config.relay.streams, ["order"]);
        assert_eq!(config.dispatcher.retry.standard.base.as_secs(), 7);
        assert!(config.state.database.expose().contains("canary"));
        Ok(())
    });
}

#[test]
fn a_missing_file_is_named() {
    let error = Config::load(Some(Path::new("/no/such/tidings.toml"))).unwrap_err();
    assert!(error.to_string().contains("/no/such/tidings.toml"));
}
