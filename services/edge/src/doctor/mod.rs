//! `tidings doctor`: what is wrong with a deployment, and what to do about it.
//!
//! Each check is a pure judgement over gathered facts, beside the thin gatherer of these facts. All run side by side,
//! each within a deadline; one that cannot look is a problem itself.
//!
//! Reading order: [`Finding`] → `configuration` → `secret_files`, `listen` → `upstream`, `state`, `clock` → `registry`,
//! `schema_ids` → `broker`, `topics` → `claim_check`.

mod broker;
mod claim_check;
mod clock;
mod configuration;
mod finding;
mod listen;
mod registry;
mod schema_ids;
mod secret_files;
mod server;
mod state;
mod topics;
mod upstream;

pub use finding::{Finding, Health};

use std::path::Path;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, join_all};

use crate::config::Config;

/// Looks at everything, each check for at most `deadline`, and changes nothing. Findings come in the order of the checks
/// whatever was fastest; each check has at least one.
///
/// Without a usable configuration only what can be said of it is said.
pub async fn examine(path: Option<&Path>, deadline: Duration) -> Vec<Finding> {
    let examined = Config::examine(path);
    let mut findings = configuration::judge(&examined);
    let Some(mut config) = examined.config else {
        return findings;
    };
    // So that Kafka's client says why it gets no answer before it is not waited for any more.
    config.kafka.admin_timeout = config.kafka.admin_timeout.min(deadline * 3 / 4);
    let files = secret_files::gather(&examined.secret_files);
    findings.extend(secret_files::judge(&files));
    findings.extend(listen::judge(config.http.listen));
    let mut checks = checks(&config);
    let unfit = |key: &str| key.starts_with("claim_check.");
    // What its own settings already rule out was told.
    if !examined.problems.iter().any(|problem| unfit(&problem.key)) {
        checks.push(store_check(&config));
    }
    let looks = join_all(checks.into_iter().map(|(check, key, look)| {
        let looked = tokio::time::timeout(deadline, look);
        looked.map(move |found| found.unwrap_or_else(|_| vec![too_slow(check, key, deadline)]))
    }));
    findings.extend(looks.await.into_iter().flatten());
    findings
}

/// A check's name, the key to look at when it gets no answer, and the look.
type Check<'a> = (&'static str, &'static str, BoxFuture<'a, Vec<Finding>>);

fn checks(config: &Config) -> Vec<Check<'_>> {
    vec![
        (
            upstream::CHECK,
            "upstream.database",
            upstream::check(config).boxed(),
        ),
        (state::CHECK, "state.database", state::check(config).boxed()),
        (clock::CHECK, "state.database", clock::check(config).boxed()),
        (
            registry::CHECK,
            "registry.url",
            registry::check(config).boxed(),
        ),
        (
            schema_ids::CHECK,
            "registry.url",
            schema_ids::check(config).boxed(),
        ),
        (
            broker::CHECK,
            "kafka.brokers",
            broker::check(config).boxed(),
        ),
        (
            topics::CHECK,
            "kafka.brokers",
            topics::check(config).boxed(),
        ),
    ]
}

fn store_check(config: &Config) -> Check<'_> {
    let key = claim_check::key(&config.claim_check);
    (
        claim_check::CHECK,
        key,
        claim_check::check(&config.claim_check).boxed(),
    )
}

fn too_slow(check: &'static str, key: &str, deadline: Duration) -> Finding {
    Finding::problem(
        check,
        key,
        format!("no answer within {deadline:?}"),
        "check that the address is right and reached from here; --deadline gives it longer",
    )
}

/// An error and its causes in one line.
fn words(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |&cause| cause.source());
    causes
        .map(ToString::to_string)
        .fold(String::new(), |told, cause| {
            // Some libraries tell their cause themselves.
            match (told.is_empty(), told.contains(&cause)) {
                (true, _) => cause,
                (false, true) => told,
                (false, false) => format!("{told}: {cause}"),
            }
        })
}
