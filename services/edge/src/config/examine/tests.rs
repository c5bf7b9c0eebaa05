use super::*;

fn examine(text: &str) -> (Option<Config>, Vec<ConfigProblem>) {
    let layers = Layers::defaults().unwrap();
    let layers = layers.with_file(Path::new("tidings.toml"), text).unwrap();
    let mut problems = Vec::new();
    let (config, _) = fit(layers, &mut problems);
    if let Some(config) = &config {
        add_rules(config, &mut problems);
    }
    (config, problems)
}

#[test]
fn every_problem_is_found_at_once_and_the_rest_can_be_used() {
    let (config, problems) = examine(
        "[kafka]\nbroker = 'x:1'\npartitions = 'many'\nprefix = 'p'
         [dispatcher]\nlease = '10s'\nclaim_bach = 7
         [accounts.'telegram:main']\ntoken_file = '/no/such/token'",
    );
    let keys: Vec<&str> = problems
        .iter()
        .map(|problem| problem.key.as_str())
        .collect();
    let expected = [
        "dispatcher.claim_bach",
        "kafka.broker",
        "kafka.partitions",
        "accounts.\"telegram:main\".token_file",
        "dispatcher.lease",
    ];
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    let mut wanted = expected.to_vec();
    wanted.sort_unstable();
    assert_eq!(sorted, wanted, "{problems:?}");
    let config = config.unwrap();
    assert_eq!(
        (config.kafka.prefix.as_str(), config.kafka.partitions),
        ("p", 12)
    );
}

#[test]
fn a_mistyped_key_gets_the_right_one_and_a_wrong_type_what_is_expected() {
    let (_, problems) = examine("[kafka]\nbroker = 'x:1'\npartitions = 'canary'\n[claims]\na = 1");
    let text: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let text = text.join("\n");
    assert!(
        text.contains("kafka.broker = (unknown key): did you mean kafka.brokers?"),
        "{text}"
    );
    assert!(
        text.contains("kafka.partitions = (not shown): wrong type, expected u32"),
        "{text}"
    );
    assert!(text.contains("claims = (unknown key): "), "{text}");
    assert!(!text.contains("canary"), "{text}");
}

#[test]
fn a_file_that_is_no_toml_is_named_with_its_line_and_not_quoted() {
    let error = Layers::defaults()
        .unwrap()
        .with_file(Path::new("tidings.toml"), "[kafka]\ntoken = \"canary")
        .unwrap_err();
    let problem = no_toml(Path::new("tidings.toml"), *error).to_string();
    assert!(
        problem.contains("tidings.toml") && problem.contains("line 2"),
        "{problem}"
    );
    assert!(!problem.contains("canary"), "{problem}");
}

#[test]
#[allow(clippy::result_large_err)] // figment's test harness asks for its own error.
fn variables_are_examined_too() {
    figment::Jail::expect_with(|jail| {
        jail.set_env("TIDINGS_KAFKA__BROKER", "x");
        jail.set_env("TIDINGS_KAFKA_PREFIX", "x");
        let examined = Config::examine(None);
        let text: Vec<String> = examined.problems.iter().map(ToString::to_string).collect();
        let text = text.join("\n");
        assert!(
            text.contains(
                "TIDINGS_KAFKA__BROKER = (unknown key): did you mean TIDINGS_KAFKA__BROKERS?"
            ),
            "{text}"
        );
        assert!(
            text.contains(
                "TIDINGS_KAFKA_PREFIX = (unknown variable): did you mean TIDINGS_KAFKA__PREFIX?"
            ),
            "{text}"
        );
        Ok(())
    });
}
