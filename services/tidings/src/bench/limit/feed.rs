//! What an upstream service publishes meanwhile: as much as keeps every account's backlog as deep as the plan wants it.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tidings_drill::Deployment;
use tidings_envelope::partition::partition_for;
use tokio_postgres::{Client, NoTls};

use super::calls::Kind;
use super::plan::{High, PARTITIONS, Plan};

/// How often the backlog is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// The most messages that one transaction publishes.
const BATCH: u64 = 1_000;

/// `high` messages a second of [`High::Trickle`].
const TRICKLE_PER_SECOND: f64 = 2.0;

/// [`High::Endless`], as a part of the account's limit.
const ENDLESS_SHARE: f64 = 1.2;

/// Messages a second for the group: a little more than its limit allows.
const GROUP_PER_SECOND: f64 = 0.36;

/// Chats that `high` goes to: each has its own limit.
const HIGH_CHATS: usize = 100;

/// The text ends with the moment, so that what arrives tells how long it was on its way.
const PUBLISH: &str = "select count(id) from (select tidings.publish(
    event_type => 'notification.requested', event_version => 1,
    data => json_build_object('text', 'bench ' || (extract(epoch from clock_timestamp()) * 1000000)::bigint, 'parse_mode', null),
    aggregate_type => 'bench', aggregate_id => chat,
    destination => jsonb_build_object('platform', 'telegram', 'account', $1::text, 'chat_id', chat),
    priority => $2::text) as id from unnest($3::text[]) as chat) as published";

/// A connection that publishes.
pub(super) struct Publisher {
    client: Client,
}

impl Publisher {
    pub(super) async fn connect(deployment: &Deployment) -> anyhow::Result<Self> {
        let url = &deployment.place().upstream_url;
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        // It ends with the client.
        tokio::spawn(connection);
        Ok(Self { client })
    }

    /// One message to each of `numbers`, chats of the account with the index `account`.
    pub(super) async fn publish(
        &self,
        kind: Kind,
        account: usize,
        numbers: impl Iterator<Item = i64>,
    ) -> anyhow::Result<()> {
        let chats: Vec<String> = numbers
            .map(|number| kind.chat_id(account, number).to_string())
            .collect();
        let priority = match kind {
            Kind::High => "high",
            Kind::Normal | Kind::Lone | Kind::Group => "normal",
        };
        let published = self
            .client
            .execute(PUBLISH, &[&alias(account), &priority, &chats])
            .await;
        published.context("the upstream database refuses messages")?;
        Ok(())
    }
}

/// The alias of the account with the index `account`.
pub(super) fn alias(account: usize) -> String {
    format!("bench-{account}")
}

/// Publishes until it is dropped.
pub(super) struct Feed {
    publisher: Publisher,
    deployment: Arc<Deployment>,
    plan: Plan,
    /// `normal` messages published so far, by account.
    normal: Vec<u64>,
    /// Others of the first account.
    others: u64,
    high_chats: Vec<i64>,
    high: u64,
    group: u64,
    began: Instant,
}

impl Feed {
    /// `warmed_up` messages of the first account are published and accepted already.
    pub(super) fn new(
        publisher: Publisher,
        deployment: Arc<Deployment>,
        plan: Plan,
        warmed_up: u64,
    ) -> Self {
        Self {
            normal: vec![0; plan.accounts],
            others: warmed_up,
            high_chats: high_chats(plan.high),
            high: 0,
            group: 0,
            began: Instant::now(),
            publisher,
            deployment,
            plan,
        }
    }

    /// Goes on until it fails.
    pub(super) async fn run(mut self) -> anyhow::Error {
        self.began = Instant::now();
        loop {
            if let Err(error) = self.top_up().await {
                return error;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn top_up(&mut self) -> anyhow::Result<()> {
        self.top_up_group().await?;
        self.top_up_high().await?;
        let stats = self.deployment.simulator().account_stats(None);
        for account in 0..self.plan.accounts {
            let accepted = stats.get(&alias(account)).map_or(0, |stats| stats.accepted);
            let others = if account == 0 { self.others } else { 0 };
            let waiting = self.normal[account].saturating_sub(accepted.saturating_sub(others));
            let missing = self.plan.kept_waiting().saturating_sub(waiting);
            self.publish_normal(account, missing).await?;
        }
        Ok(())
    }

    async fn publish_normal(&mut self, account: usize, mut missing: u64) -> anyhow::Result<()> {
        while missing > 0 {
            let first = self.normal[account];
            let count = missing.min(BATCH);
            let chats = self.plan.chats();
            let numbers =
                (first..first + count).map(|number| i64::try_from(number % chats).unwrap_or(0));
            self.publisher
                .publish(Kind::Normal, account, numbers)
                .await?;
            self.normal[account] += count;
            missing -= count;
        }
        Ok(())
    }

    async fn top_up_group(&mut self) -> anyhow::Result<()> {
        if !self.plan.group {
            return Ok(());
        }
        let due = self.due(GROUP_PER_SECOND);
        let group = (self.group..due).map(|_| 0);
        self.publisher.publish(Kind::Group, 0, group).await?;
        self.others += due - self.group;
        self.group = due;
        Ok(())
    }

    /// How many messages are due by now.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn due(&self, per_second: f64) -> u64 {
        (self.began.elapsed().as_secs_f64() * per_second) as u64
    }

    async fn top_up_high(&mut self) -> anyhow::Result<()> {
        let per_second = match self.plan.high {
            High::None => return Ok(()),
            High::Trickle => TRICKLE_PER_SECOND,
            High::Endless => ENDLESS_SHARE * f64::from(self.plan.per_second()),
        };
        let due = self.due(per_second);
        let chats = &self.high_chats;
        let number = |nth: u64| chats[usize::try_from(nth).unwrap_or(0) % chats.len()];
        let numbers: Vec<i64> = (self.high..due).map(number).collect();
        self.publisher
            .publish(Kind::High, 0, numbers.into_iter())
            .await?;
        self.others += due - self.high;
        self.high = due;
        Ok(())
    }
}

/// A trickle goes to one worker, which holds the first partition; endless ones to all.
fn high_chats(high: High) -> Vec<i64> {
    let on_first = |number: &i64| {
        let key = Kind::High.chat_id(0, *number).to_string();
        let partitions = u32::try_from(PARTITIONS).ok().and_then(NonZeroU32::new);
        partitions.is_some_and(|partitions| partition_for(key.as_bytes(), partitions) == 0)
    };
    match high {
        High::None => Vec::new(),
        High::Trickle => (0..).filter(on_first).take(HIGH_CHATS).collect(),
        High::Endless => (0..).take(HIGH_CHATS).collect(),
    }
}
