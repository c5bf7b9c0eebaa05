//! One run, from start to figures.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tidings_stack::Stack;

use super::calls::{Call, Kind};
use super::chaos;
use super::feed::{Feed, Publisher};
use super::figures::{Figures, Seen};
use super::plan::Plan;
use super::rig::Rig;
use super::spans::{SECOND, Span, now};
use super::waits;

/// How long saturated accounts run before they are measured, for one account and for each further ten.
const SATURATED: Duration = Duration::from_secs(3);

/// What one run has to say.
pub(super) struct Line {
    /// Every promise was kept.
    pub(super) kept: bool,
    /// One object, flat.
    pub(super) json: Value,
}

impl Line {
    /// For people: one figure a line.
    pub(super) fn table(&self) -> String {
        let figures = self.json.as_object().into_iter().flatten();
        let lines = figures.map(|(name, value)| format!("{name:<28}{value}"));
        lines.collect::<Vec<_>>().join("\n")
    }
}

pub(super) async fn run(stack: &Stack, folder: PathBuf, plan: Plan) -> anyhow::Result<Line> {
    let mut rig = Rig::start(stack, folder, &plan).await?;
    rig.lone(plan.lone, plan.lone_pause).await?;
    let feed = feed(&rig, &plan).await?;
    let mut feeding = tokio::spawn(feed.run());
    let measured = tokio::select! {
        measured = measure(&mut rig, &plan) => measured,
        failed = &mut feeding => Err(failed?),
    };
    feeding.abort();
    // It holds the deployment until it is gone; that it was cancelled is no news.
    let _ = feeding.await;
    let seen = measured?;
    rig.stop().await?;
    Ok(Figures::of(&plan, seen).line(&plan))
}

async fn feed(rig: &Rig<'_>, plan: &Plan) -> anyhow::Result<Feed> {
    let publisher = Publisher::connect(&rig.deployment).await?;
    let deployment = Arc::clone(&rig.deployment);
    let warmed_up = rig.warmed_up() + u64::from(plan.lone);
    Ok(Feed::new(publisher, deployment, plan.clone(), warmed_up))
}

async fn measure(rig: &mut Rig<'_>, plan: &Plan) -> anyhow::Result<Seen> {
    let tens = u32::try_from(plan.accounts / 10).unwrap_or(u32::MAX);
    let warmed_up = rig.warmed_up() + u64::from(plan.lone);
    rig.accepted(warmed_up + u64::from(plan.per_second()))
        .await?;
    tokio::time::sleep(SATURATED * (1 + tens)).await;
    if plan.group {
        rig.group_began().await?;
    }
    let (from, first_record) = (now(), rig.topic.end().await?);
    let whole = Duration::from_secs(plan.seconds);
    let ends = tokio::time::Instant::now() + whole;
    let left_out = match plan.chaos {
        Some(chaos) => chaos::strike(chaos, rig, plan.seconds).await?,
        None => Vec::new(),
    };
    tokio::time::sleep_until(ends).await;
    let span = Span { from, to: now() };
    let records = rig.topic.end().await? - first_record;
    let entries = rig.deployment.simulator().log_from(0);
    let logs = rig.logs();
    Ok(Seen {
        calls: entries.into_iter().map(Call::of).collect(),
        seconds: span.seconds_without(&left_out),
        span: Span {
            to: span.from + (span.to - span.from) / SECOND * SECOND,
            ..span
        },
        records,
        lone_waits: waits::of(Kind::Lone, &logs)?,
        high_waits: waits::of(Kind::High, &logs)?,
    })
}
