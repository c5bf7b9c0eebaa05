//! SIGHUP: the configuration is read again, and what may change while a worker runs takes effect (B14).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tidings_dispatcher::Change;
use tidings_edge::config::Config;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tracing::{error, info, warn};

/// Changes that a worker has not taken yet; one more waits.
const PENDING: usize = 4;

/// Keys whose changes a running worker takes: calls at once, of all accounts and of one.
const TAKEN: &str = "max_in_flight_calls_per_account";
const TAKEN_OF_ACCOUNT: &str = "max_in_flight_calls";

/// Reads the configuration again at each SIGHUP and tells the worker. The handler is there when this returns.
pub(crate) fn at_hangup(path: Option<PathBuf>) -> anyhow::Result<mpsc::Receiver<Change>> {
    let hangup = signal(SignalKind::hangup())?;
    let (changes, taken) = mpsc::channel(PENDING);
    tokio::spawn(keep_reading(path, hangup, changes));
    Ok(taken)
}

async fn keep_reading(path: Option<PathBuf>, mut hangup: Signal, changes: mpsc::Sender<Change>) {
    let mut running = settings(path.as_deref()).unwrap_or_default();
    while hangup.recv().await.is_some() {
        let Some((config, read)) = read(path.as_deref()) else {
            continue;
        };
        for difference in differences(&running, &read) {
            difference.tell();
        }
        take(&mut running, read);
        for change in changes_of(&config) {
            if changes.send(change).await.is_err() {
                return;
            }
        }
    }
}

/// Reads and checks all of it: half a configuration must not take effect.
fn read(path: Option<&Path>) -> Option<(Config, Settings)> {
    match (Config::load(path), settings(path)) {
        (Ok(config), Some(settings)) => Some((config, settings)),
        (Err(problem), _) => {
            let problem = format!("{:#}", anyhow::Error::new(problem));
            error!(
                problem,
                "SIGHUP: the configuration does not fit; nothing was changed"
            );
            None
        }
        (Ok(_), None) => {
            error!("SIGHUP: the configuration changed while it was read; send SIGHUP again");
            None
        }
    }
}

/// Every key with its value; of a secret only where it is from.
type Settings = BTreeMap<String, Value>;

fn settings(path: Option<&Path>) -> Option<Settings> {
    let settings = Config::settings(path).ok()?;
    Some(settings.into_iter().map(|s| (s.key, s.value)).collect())
}

/// A key that has another value than the running worker's.
#[derive(Debug, PartialEq)]
struct Difference<'a> {
    key: &'a str,
    from: Option<&'a Value>,
    to: Option<&'a Value>,
    taken: bool,
}

impl Difference<'_> {
    fn tell(&self) {
        let shown = |value: Option<&Value>| value.map_or("(not set)".into(), Value::to_string);
        let (key, from, to) = (self.key, shown(self.from), shown(self.to));
        if self.taken {
            info!(key, from, to, "SIGHUP: changed, and in effect");
        } else {
            warn!(
                key,
                from,
                to,
                "SIGHUP: changed in the configuration; takes effect when this process is started again"
            );
        }
    }
}

fn differences<'a>(running: &'a Settings, read: &'a Settings) -> Vec<Difference<'a>> {
    let mut keys: Vec<&String> = running.keys().chain(read.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let differences = keys.into_iter().map(|key| Difference {
        key,
        from: running.get(key),
        to: read.get(key),
        taken: is_taken(key, running),
    });
    differences.filter(|d| d.from != d.to).collect()
}

/// Accounts are those that the worker started with.
fn is_taken(key: &str, running: &Settings) -> bool {
    let Some((section, name)) = key.rsplit_once('.') else {
        return false;
    };
    match name {
        TAKEN => section == "dispatcher",
        TAKEN_OF_ACCOUNT => {
            let known = |other: &String| other.rsplit_once('.').is_some_and(|(s, _)| s == section);
            section.starts_with("accounts.") && running.keys().any(known)
        }
        _ => false,
    }
}

/// What was taken is what runs now; the rest is told again until the process is started again.
fn take(running: &mut Settings, read: Settings) {
    let taken: Vec<String> = running
        .keys()
        .chain(read.keys())
        .filter(|key| is_taken(key, running))
        .cloned()
        .collect();
    for key in taken {
        match read.get(&key) {
            Some(value) => running.insert(key, value.clone()),
            None => running.remove(&key),
        };
    }
}

fn changes_of(config: &Config) -> [Change; 2] {
    let usual = config.dispatcher.max_in_flight_calls_per_account;
    let accounts = config.accounts.iter();
    let limits = accounts
        .clone()
        .map(|(name, account)| (name.clone(), account.max_in_flight_calls.unwrap_or(usual)));
    let tokens =
        accounts.filter_map(|(name, account)| Some((name.clone(), account.token.clone()?)));
    [
        Change::CallsLimits(limits.collect()),
        Change::Credentials(tokens.collect()),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(pairs: &[(&str, Value)]) -> Settings {
        let pairs = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.clone()));
        pairs.collect()
    }

    const MAIN: &str = "accounts.\"telegram:main\".max_in_flight_calls";

    #[test]
    fn bounds_of_calls_are_taken_and_everything_else_is_told_until_a_restart() {
        let mut running = settings(&[
            ("accounts.\"telegram:main\".base_url", json!("http://one")),
            ("dispatcher.lease", json!("40s")),
            ("dispatcher.max_in_flight_calls_per_account", json!(512)),
        ]);
        let read = settings(&[
            ("accounts.\"telegram:main\".base_url", json!("http://one")),
            (MAIN, json!(4)),
            ("accounts.\"telegram:new\".max_in_flight_calls", json!(4)),
            ("dispatcher.lease", json!("50s")),
            ("dispatcher.max_in_flight_calls_per_account", json!(64)),
        ]);
        let told = |running: &Settings| {
            let differences = differences(running, &read);
            let told = differences.iter().map(|d| (d.key.to_owned(), d.taken));
            told.collect::<Vec<_>>()
        };
        let (new, lease) = (
            "accounts.\"telegram:new\".max_in_flight_calls".to_owned(),
            "dispatcher.lease".to_owned(),
        );
        assert_eq!(
            told(&running),
            [
                (MAIN.to_owned(), true),
                (new.clone(), false),
                (lease.clone(), false),
                (
                    "dispatcher.max_in_flight_calls_per_account".to_owned(),
                    true
                ),
            ]
        );
        take(&mut running, read.clone());
        assert_eq!(told(&running), [(new, false), (lease, false)]);
    }

    #[test]
    fn a_bound_that_is_taken_out_is_a_change_too() {
        let mut running = settings(&[
            (MAIN, json!(4)),
            ("accounts.\"telegram:main\".token_file", json!("x")),
        ]);
        let read = settings(&[("accounts.\"telegram:main\".token_file", json!("x"))]);
        let found = differences(&running, &read);
        assert!(
            matches!(
                found[..],
                [Difference {
                    to: None,
                    taken: true,
                    ..
                }]
            ),
            "{found:?}"
        );
        take(&mut running, read);
        assert!(!running.contains_key(MAIN));
    }
}
