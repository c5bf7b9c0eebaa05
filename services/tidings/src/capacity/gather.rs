//! Asks Kafka, the rate-limit topic, the state database and, if they are named, dispatchers; side by side.

use std::time::Duration;

use tidings_delivery::{Caps, Demand, UTILISATION, required_consumers};
use tidings_edge::capacity::{ConnectionRoom, concurrency_per_consumer, connections_per_consumer};
use tidings_edge::config::Config;

use super::facts::{AccountQuota, Facts, Sourced};
use super::lanes::{Sample, sample};
use super::options::CapacityOptions;
use super::processing::processing;
use super::supply::{quotas, room};

const CONCURRENCY_SOURCE: &str =
    "configuration: dispatcher.max_in_flight_calls, and what the accounts' bounds add up to";

/// `None` if no lane exists.
pub(super) async fn gather(
    config: &Config,
    options: &CapacityOptions,
) -> anyhow::Result<Option<Facts>> {
    let length = Duration::from_secs(options.seconds);
    let (sample, quotas, room, processing) = tokio::try_join!(
        sample(config, length),
        quotas(config),
        room(config),
        processing(options, length),
    )?;
    let Some(sample) = sample else {
        return Ok(None);
    };
    Ok(Some(facts(
        config,
        arrival(options, &sample),
        processing,
        sample,
        quotas,
        room,
    )))
}

fn facts(
    config: &Config,
    arrival: Sourced<f64>,
    processing: Sourced<Duration>,
    sample: Sample,
    quotas: Vec<AccountQuota>,
    room: ConnectionRoom,
) -> Facts {
    let partitions = sample.lanes.iter().map(|lane| lane.partitions.len()).sum();
    let caps = Caps {
        quota_per_second: quotas.iter().map(|quota| quota.per_second.value).sum(),
        partitions: u64::try_from(partitions).ok(),
        connections: Some(room.usable()),
        connections_per_consumer: connections_per_consumer(config),
    };
    let demand = Demand {
        arrival_per_second: arrival.value,
        mean_processing: processing.value,
        concurrency_per_consumer: concurrency_per_consumer(config),
        utilisation: UTILISATION,
    };
    Facts {
        group: config.dispatcher.group.clone(),
        capacity: required_consumers(&demand, &caps),
        arrival,
        processing,
        concurrency: Sourced::new(demand.concurrency_per_consumer, CONCURRENCY_SOURCE),
        quotas,
        quota_per_second: caps.quota_per_second,
        partitions,
        room,
        connections_per_consumer: caps.connections_per_consumer,
        lanes: sample.lanes,
    }
}

fn arrival(options: &CapacityOptions, sample: &Sample) -> Sourced<f64> {
    match options.arrival_per_second {
        Some(given) => Sourced::new(given, "given: --arrival-per-second"),
        None => {
            let seconds = sample.took.as_secs_f64();
            #[allow(clippy::cast_precision_loss)] // an hour's records are far below 2^53
            let records = sample.arrived as f64;
            Sourced::new(
                records / seconds.max(f64::MIN_POSITIVE),
                format!("measured: what the lanes' ends moved by in {seconds:.1} s"),
            )
        }
    }
}
