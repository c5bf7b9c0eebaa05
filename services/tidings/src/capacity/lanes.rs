//! The lanes over a sample: what arrived, and how far behind the group is at its end.

use std::collections::HashMap;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context as _;
use tidings_edge::capacity::{LaneLook, LanePlace, PartitionState, oldest_unread};
use tidings_edge::config::Config;
use tidings_edge::kafka::{self, TopicView};

use super::facts::{LaneFacts, PartitionFacts};

/// How often progress is told.
const TELL: Duration = Duration::from_secs(1);

pub(super) struct Sample {
    /// Records that came into all lanes.
    pub(super) arrived: u64,
    /// Between the two looks.
    pub(super) took: Duration,
    pub(super) lanes: Vec<LaneFacts>,
}

/// Looks twice; `None` if no lane exists.
pub(super) async fn sample(config: &Config, length: Duration) -> anyhow::Result<Option<Sample>> {
    let views = kafka::inspect(config).await?;
    let look = LaneLook::new(config).context("a client for the lanes could not be made")?;
    let (look, places, before, began) = blocking(move || {
        let places = look.places()?;
        let states = look.states(&places)?;
        Ok((look, places, states, Instant::now()))
    })
    .await?;
    if places.is_empty() {
        return Ok(None);
    }
    wait(length).await;
    let of_thread = config.clone();
    let (after, took, oldest) = blocking(move || {
        let states = look.states(&places)?;
        let took = began.elapsed();
        let oldest = oldest_unread(&of_thread, &states)?;
        Ok((states, took, oldest))
    })
    .await?;
    Ok(Some(Sample {
        arrived: arrived(&before, &after),
        took,
        lanes: by_lane(after, &oldest, &views),
    }))
}

/// On a thread that may wait for a broker.
async fn blocking<T: Send + 'static>(
    ask: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    let asked = tokio::task::spawn_blocking(ask).await?;
    asked.context("the lanes could not be looked at within kafka.admin_timeout")
}

async fn wait(length: Duration) {
    let terminal = std::io::stderr().is_terminal();
    let until = Instant::now() + length;
    while Instant::now() < until {
        let left = until.saturating_duration_since(Instant::now());
        if terminal {
            let seconds = left.as_secs_f64().ceil();
            eprint!("\rmeasuring what arrives: {seconds} s left   ");
        }
        tokio::time::sleep(left.min(TELL)).await;
    }
    if terminal {
        eprint!("\r{:40}\r", "");
    }
}

fn arrived(before: &[PartitionState], after: &[PartitionState]) -> u64 {
    let before: HashMap<&LanePlace, i64> = before.iter().map(|s| (&s.place, s.end)).collect();
    let moved = after.iter().filter_map(|state| {
        let began = before.get(&state.place)?;
        u64::try_from(state.end.saturating_sub(*began)).ok()
    });
    moved.sum()
}

/// In the order of the topics' names.
fn by_lane(
    states: Vec<PartitionState>,
    oldest: &HashMap<LanePlace, SystemTime>,
    views: &[TopicView],
) -> Vec<LaneFacts> {
    let mut lanes: Vec<LaneFacts> = Vec::new();
    for state in states {
        let topic = state.place.topic.to_string();
        let written = oldest.get(&state.place);
        let partition = PartitionFacts {
            // A record of the future is of age 0: a clock is wrong, and `tidings doctor` says which.
            oldest_age: written.map(|written| written.elapsed().unwrap_or_default()),
            state,
        };
        match lanes.last_mut().filter(|lane| lane.topic == topic) {
            Some(lane) => lane.partitions.push(partition),
            None => lanes.push(LaneFacts {
                retention: retention(views, &topic),
                topic,
                partitions: vec![partition],
            }),
        }
    }
    lanes
}

fn retention(views: &[TopicView], topic: &str) -> Option<Duration> {
    views
        .iter()
        .find(|view| view.spec.name == topic)?
        .retention()
}
