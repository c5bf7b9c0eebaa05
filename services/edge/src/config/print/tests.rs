use std::path::PathBuf;

use super::*;

fn settings(text: &str) -> Vec<Setting> {
    let layers = Layers::defaults().unwrap();
    list(&layers.with_file(Path::new("tidings.toml"), text).unwrap())
}

fn of<'a>(settings: &'a [Setting], key: &str) -> &'a Setting {
    settings
        .iter()
        .find(|setting| setting.key == key)
        .unwrap_or_else(|| panic!("{key} is not in {settings:?}"))
}

#[test]
fn each_value_says_which_layer_it_is_from() {
    let settings = settings("[kafka]\npartitions = 3");
    let partitions = of(&settings, "kafka.partitions");
    assert_eq!(partitions.value, 3);
    assert_eq!(
        partitions.origin,
        Origin::File(PathBuf::from("tidings.toml"))
    );
    let prefix = of(&settings, "kafka.prefix");
    assert_eq!(
        (&prefix.origin, prefix.value.as_str()),
        (&Origin::Default, Some("tidings"))
    );
}

#[test]
fn no_secret_is_ever_shown() {
    let text = "
        [upstream]\ndatabase = 'postgres://u:canary@h/d'
        [state]\ndatabase_file = '/run/state-url'
        [registry]\nurl = 'http://u:canary@h/'\npassword = 'canary'
        [kafka.security]\nsasl_password = 'canary'
        [accounts.'telegram:main']\ntoken = 'canary'
        base_url = 'https://api.telegram.org/bot123456:canarycanarycanarycanary'
        [accounts.'telegram:other']\ntoken_env = 'OTHER_TOKEN'";
    let settings = settings(text);
    let all = format!("{settings:?}");
    assert!(!all.contains("canary"), "{all}");
    let token = of(&settings, "accounts.\"telegram:other\".token");
    assert_eq!(token.value, "(secret, set from variable OTHER_TOKEN)");
    let database = of(&settings, "state.database");
    assert!(
        settings
            .iter()
            .any(|setting| { setting.value == "(secret, set from file /run/state-url)" }),
        "{database:?}"
    );
}

#[test]
fn the_defaults_alone_are_all_defaults() {
    let defaults = Config::default_settings();
    assert!(defaults.len() > 50);
    assert!(
        defaults
            .iter()
            .all(|setting| setting.origin == Origin::Default)
    );
    assert_eq!(
        of(&defaults, "state.database").value,
        "postgres://postgres@127.0.0.1:5432/tidings"
    );
}
