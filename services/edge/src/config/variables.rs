//! Variables that begin with `TIDINGS_` and set nothing: each is probably a mistyped setting.

use super::ConfigProblem;
use super::suggest::closest;

/// Variables that are not settings of the configuration but that this repository's programs read.
const OTHERS: [&str; 15] = [
    "TIDINGS_CONFIG",
    "TIDINGS_JAEGER",
    "TIDINGS_STACK",
    "TIDINGS_GROUP_PROTOCOL",
    "TIDINGS_BACKLOG",
    "TIDINGS_SIM_SEED",
    "TIDINGS_SIM_SEEDS",
    "TIDINGS_SIM_TRACE",
    "TIDINGS_JUDGE_UPSTREAM",
    "TIDINGS_JUDGE_STATE",
    "TIDINGS_JUDGE_SIMULATOR",
    "TIDINGS_JUDGE_BROKERS",
    "TIDINGS_STACK_TEST_HOLDER",
    "TIDINGS_POSTGRES_URL",
    "TIDINGS_REGISTRY_URL",
];

/// The problems of `present` names: `settings` are the names that would set a key, `named` those that a key such as
/// `token_env` points at. Names with a section (`__`) are judged as keys of the configuration, elsewhere.
pub(super) fn unknown(
    present: &[String],
    settings: &[String],
    named: &[String],
) -> Vec<ConfigProblem> {
    // The tests' own way to name a cluster; without it this is the commonest mistake there is.
    let tests = present.iter().any(|name| name == "TIDINGS_STACK");
    let is_known = |name: &str| {
        OTHERS.contains(&name)
            || named.iter().any(|other| other == name)
            || (tests && name == "TIDINGS_KAFKA_BROKERS")
            || is_injected(name)
    };
    present
        .iter()
        .filter(|name| name.starts_with("TIDINGS_") && !name.contains("__") && !is_known(name))
        .map(|name| problem(name, settings))
        .collect()
}

fn problem(name: &str, settings: &[String]) -> ConfigProblem {
    let known = settings.iter().map(String::as_str).chain(OTHERS);
    let remedy = match closest(name, known) {
        Some(setting) => format!("did you mean {setting}? As it is, it sets nothing"),
        None => {
            "it sets nothing; remove it (a setting is TIDINGS_<SECTION>__<KEY>, with two underscores)"
                .into()
        }
    };
    ConfigProblem {
        key: name.to_owned(),
        value: "(unknown variable)".into(),
        remedy,
    }
}

/// Kubernetes sets `<SERVICE>_SERVICE_HOST`, `<SERVICE>_PORT_9100_TCP` … in every container beside a service whose name
/// begins with `tidings`.
fn is_injected(name: &str) -> bool {
    name.contains("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || name.ends_with("_PORT")
        || name
            .split_once("_PORT_")
            .is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(of: &[&str]) -> Vec<String> {
        of.iter().map(|name| (*name).to_owned()).collect()
    }

    fn problems(present: &[&str]) -> Vec<String> {
        let settings = names(&["TIDINGS_KAFKA__BROKERS", "TIDINGS_RELAY__POLL_MIN"]);
        let found = unknown(&names(present), &settings, &names(&["TIDINGS_TOKEN"]));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_single_underscore_is_found_and_explained() {
        let found = problems(&["TIDINGS_KAFKA_BROKERS", "PATH"]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].contains("did you mean TIDINGS_KAFKA__BROKERS?"),
            "{found:?}"
        );
    }

    #[test]
    fn what_others_own_is_left_alone() {
        let present = [
            "TIDINGS_CONFIG",
            "TIDINGS_TOKEN",
            "TIDINGS_RELAY__NO_SUCH_KEY",
            "TIDINGS_SERVICE_HOST",
            "TIDINGS_RELAY_SERVICE_PORT_HTTP",
            "TIDINGS_RELAY_PORT",
            "TIDINGS_RELAY_PORT_9100_TCP_ADDR",
        ];
        assert!(problems(&present).is_empty(), "{:?}", problems(&present));
    }

    #[test]
    fn the_tests_own_variable_counts_only_with_its_switch() {
        assert!(problems(&["TIDINGS_STACK", "TIDINGS_KAFKA_BROKERS"]).is_empty());
    }
}
