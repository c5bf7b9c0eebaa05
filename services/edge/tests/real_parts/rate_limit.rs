//! The client of the rate-limit topic on a real Kafka, its topic emptied, recreated and unfit, its broker frozen.

mod broker;
mod penalties;
mod sharing;
mod topics;
mod worker;

use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::DefaultClientContext;
use tidings_edge::config::{AccountConfig, Config, LimitsProposal};
use tidings_edge::kafka::{admin_config, apply, rate_limit_topic};

/// The scope that all workers share here.
const SCOPE: &str = "telegram:main";

/// Its limit: so many messages in any second.
const PER_SECOND: usize = 30;

/// A configuration with one account of [`PER_SECOND`] and nothing else, its database and its topics.
async fn prepared(name: &str) -> Config {
    let mut config = super::config(name).await;
    let limits = LimitsProposal {
        exact: Some(false),
        account: vec![format!("{PER_SECOND}/1s").parse().unwrap()],
        ..LimitsProposal::default()
    };
    propose(&mut config, limits);
    super::migrated(&config).await;
    apply(&config).await.unwrap();
    config
}

fn propose(config: &mut Config, limits: LimitsProposal) {
    let account = AccountConfig {
        limits: Some(limits),
        ..AccountConfig::default()
    };
    config.accounts.insert(SCOPE.into(), account);
}

fn admin(config: &Config) -> AdminClient<DefaultClientContext> {
    admin_config(&config.kafka).create().unwrap()
}

/// Deletes the rate-limit topic and makes it anew, as an operator would.
async fn recreate(config: &Config) {
    delete(config).await;
    // The cluster takes a moment to forget the name.
    while apply(config).await.is_err() || tidings_edge::kafka::check(config).await.is_err() {
        tokio::task::yield_now().await;
    }
}

async fn delete(config: &Config) {
    let topic = rate_limit_topic(&config.kafka);
    let options = AdminOptions::new();
    let deleted = admin(config).delete_topics(&[&topic], &options).await;
    deleted.unwrap()[0].as_ref().unwrap();
}
