//! What the configuration's own rules say, divided by what an operator would look for.

use super::Finding;
use crate::config::{Config, ConfigProblem, Examined};

const CONFIGURATION: &str = "configuration";
const LEASE: &str = "lease";
const DEDUPE: &str = "dedupe retention";
const ACCOUNTS: &str = "accounts";

pub(super) fn judge(examined: &Examined) -> Vec<Finding> {
    [CONFIGURATION, LEASE, DEDUPE, ACCOUNTS]
        .into_iter()
        .flat_map(|check| of_check(check, examined))
        .collect()
}

fn of_check(check: &'static str, examined: &Examined) -> Vec<Finding> {
    let problems = examined.problems.iter();
    let mut findings: Vec<Finding> = problems
        .filter(|problem| check_of(&problem.key) == check)
        .map(|problem| finding(check, problem))
        .collect();
    // Nothing is known of what cannot be read.
    if let Some(config) = &examined.config {
        if check == ACCOUNTS {
            findings.extend(idle_platforms(config));
        }
        if findings.is_empty() {
            findings.push(Finding::ok(check, praise(check, config)));
        }
    }
    findings
}

fn check_of(key: &str) -> &'static str {
    match key {
        "dispatcher.lease" => LEASE,
        "dispatcher.dedupe_retention_days" => DEDUPE,
        key if key.starts_with("accounts.") => ACCOUNTS,
        _ => CONFIGURATION,
    }
}

fn finding(check: &'static str, problem: &ConfigProblem) -> Finding {
    Finding::problem(check, &problem.key, &problem.value, &problem.remedy)
}

/// A relay needs no account, so that this is a warning.
fn idle_platforms(config: &Config) -> Vec<Finding> {
    let has_account = |platform: &str| {
        let mut aliases = config.accounts.keys();
        aliases.any(|alias| {
            alias
                .split_once(':')
                .is_some_and(|(first, _)| first == platform)
        })
    };
    let platforms = config.dispatcher.platforms.iter();
    platforms
        .filter(|platform| !has_account(platform))
        .map(|platform| {
            Finding::warning(
                ACCOUNTS,
                "accounts",
                format!(
                    "platform {platform} has no account: a dispatcher could send nothing to it"
                ),
                format!("add [accounts.\"{platform}:main\"] with token_file where dispatchers run"),
            )
        })
        .collect()
}

fn praise(check: &'static str, config: &Config) -> String {
    let dispatcher = &config.dispatcher;
    match check {
        LEASE => format!(
            "{:?}, longer than a call of {:?} + margin {:?}",
            dispatcher.lease, dispatcher.call_deadline, dispatcher.lease_margin
        ),
        DEDUPE => format!(
            "{} days, longer than the configured retention of lanes and dead letters",
            dispatcher.dedupe_retention_days
        ),
        ACCOUNTS => format!("{} account(s), no credential twice", config.accounts.len()),
        _ => "every key is known, every value fits".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Health;

    fn examined(keys: &[&str]) -> Examined {
        let problem = |key: &&str| ConfigProblem {
            key: (*key).to_owned(),
            value: "v".into(),
            remedy: "r".into(),
        };
        Examined {
            config: Some(Config::defaults().unwrap()),
            problems: keys.iter().map(problem).collect(),
            secret_files: Vec::new(),
        }
    }

    fn bad(findings: &[Finding]) -> Vec<(&str, &str)> {
        let bad = findings.iter().filter(|f| f.health == Health::Problem);
        bad.map(|f| (f.check, f.key.as_str())).collect()
    }

    #[test]
    fn each_problem_is_told_by_the_check_that_it_belongs_to() {
        let keys = [
            "kafka.broker",
            "dispatcher.lease",
            "dispatcher.dedupe_retention_days",
            "accounts.\"telegram:main\".token_file",
        ];
        let expected: Vec<_> = [CONFIGURATION, LEASE, DEDUPE, ACCOUNTS]
            .into_iter()
            .zip(keys)
            .collect();
        assert_eq!(bad(&judge(&examined(&keys))), expected);
    }

    #[test]
    fn a_platform_without_an_account_is_a_warning() {
        let findings = judge(&examined(&[]));
        assert!(bad(&findings).is_empty());
        let warning = findings.iter().find(|f| f.health == Health::Warning);
        assert_eq!(warning.unwrap().key, "accounts");
    }

    #[test]
    fn of_a_configuration_that_cannot_be_used_nothing_is_praised() {
        let examined = Examined {
            config: None,
            ..examined(&["--config"])
        };
        assert_eq!(judge(&examined).len(), 1);
    }
}
