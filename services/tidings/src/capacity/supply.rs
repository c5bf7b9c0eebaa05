//! What the platforms and the database take.

use anyhow::Context as _;
use tidings_edge::capacity::{ConnectionRoom, connection_room, quota_per_second};
use tidings_edge::config::{AccountConfig, Config};
use tidings_edge::postgres;
use tidings_edge::rate_limit::View;

use super::facts::{AccountQuota, Sourced};
use crate::limits;

/// Of each configured account: by the limits in force, or by those that are proposed while the log does not know it.
pub(super) async fn quotas(config: &Config) -> anyhow::Result<Vec<AccountQuota>> {
    let view = limits::in_force(config).await?;
    let accounts = config.accounts.iter();
    accounts
        .map(|(name, account)| {
            Ok(AccountQuota {
                account: name.clone(),
                per_second: quota(view.as_ref(), name, account)?,
            })
        })
        .collect()
}

fn quota(
    view: Option<&View>,
    name: &str,
    account: &AccountConfig,
) -> anyhow::Result<Sourced<Option<f64>>> {
    let mut scopes = view.into_iter().flat_map(|view| &view.scopes);
    if let Some(scope) = scopes.find(|scope| scope.scope == name) {
        let quota = quota_per_second(&scope.limits);
        return Ok(Sourced::new(quota, "rate-limit topic: the limits in force"));
    }
    let platform = name.split_once(':').map_or(name, |(platform, _)| platform);
    let proposed = account.limits.clone().unwrap_or_default();
    let proposed = proposed
        .scope_limits(platform)
        .with_context(|| format!("accounts.\"{name}\".limits"))?;
    Ok(Sourced::new(
        quota_per_second(&proposed),
        "configuration: the rate-limit topic does not know the account yet",
    ))
}

pub(super) async fn room(config: &Config) -> anyhow::Result<ConnectionRoom> {
    let (client, session) = postgres::connect(&config.state, "tidings-capacity").await?;
    let room = connection_room(&client).await;
    session.abort();
    Ok(room?)
}
