//! How many consumers a load asks for, and what more of them could not help (requirement B26, design §8).
//!
//! Consumers beyond what the platform, the lanes or the database can take turn into retries instead of throughput, so the
//! number is capped by each of these.

use std::time::Duration;

/// How much of a consumer's capacity is planned with; the rest is for bursts (requirement B26).
pub const UTILISATION: f64 = 0.7;

/// A quotient this little above a whole number is that number: it is how divisions are rounded, not load.
const ROUNDING: f64 = 1e-9;

/// What has to be worked off, and how fast one consumer does it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Messages a second; anything that is no number, or below zero, counts as none.
    pub arrival_per_second: f64,
    /// How long one message takes up one of a consumer's places.
    pub mean_processing: Duration,
    /// Messages that one consumer works on at once; 0 counts as 1.
    pub concurrency_per_consumer: usize,
    /// The share of a consumer's capacity that is planned with, above 0.0 and up to 1.0; [`UTILISATION`] instead of
    /// anything else.
    pub utilisation: f64,
}

/// Beyond what more consumers bring nothing. What is not known caps nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Caps {
    /// Messages a second that the platforms take from all accounts together.
    pub quota_per_second: Option<f64>,
    /// Partitions of all lanes: a consumer beyond them has none.
    pub partitions: Option<u64>,
    /// Connections that the state database has for consumers.
    pub connections: Option<u64>,
    /// Connections that one consumer takes; 0 counts as 1.
    pub connections_per_consumer: usize,
}

/// What a number was capped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cap {
    /// The platforms' limits.
    Quota,
    /// The lanes' partitions.
    Partitions,
    /// The state database's connections.
    Connections,
}

impl Cap {
    /// In metrics, JSON and text.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Quota => "quota",
            Self::Partitions => "partitions",
            Self::Connections => "connections",
        }
    }
}

/// How many consumers, and why not more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// The number to run, at least 1.
    pub required: u64,
    /// What the load alone asks for, at least 1.
    pub uncapped: u64,
    /// What the number was capped by: the least of the caps below, if it is below `uncapped`.
    pub capped_by: Option<Cap>,
    /// Consumers that carry the whole quota.
    pub quota: Option<u64>,
    /// Consumers that have a partition each.
    pub partitions: Option<u64>,
    /// Consumers that the database has connections for.
    pub connections: Option<u64>,
}

/// The number of consumers that keeps up with an arrival rate at a utilisation, at least 1 and at most what a cap leaves:
/// `ceil(arrival ÷ (concurrency ÷ processing × utilisation))`. Total: any input has an answer.
#[must_use]
pub fn required_consumers(demand: &Demand, caps: &Caps) -> Capacity {
    let uncapped = consumers(demand, demand.arrival_per_second);
    let known = caps.quota_per_second.filter(|quota| !quota.is_nan());
    let quota = known.map(|quota| consumers(demand, quota));
    let per_consumer = u64::try_from(caps.connections_per_consumer.max(1)).unwrap_or(u64::MAX);
    let connections = caps.connections.map(|all| all / per_consumer);
    let capped = [
        (Cap::Quota, quota),
        (Cap::Partitions, caps.partitions),
        (Cap::Connections, connections),
    ];
    let least = capped
        .into_iter()
        .filter_map(|(cap, most)| Some((cap, most?)))
        .filter(|(_, most)| *most < uncapped)
        .min_by_key(|(_, most)| *most);
    Capacity {
        required: least.map_or(uncapped, |(_, most)| most.max(1)),
        uncapped,
        capped_by: least.map(|(cap, _)| cap),
        quota,
        partitions: caps.partitions,
        connections,
    }
}

/// Consumers for a rate, without caps.
fn consumers(demand: &Demand, per_second: f64) -> u64 {
    let utilisation = match demand.utilisation {
        share if share > 0.0 && share <= 1.0 => share,
        _ => UTILISATION,
    };
    #[allow(clippy::cast_precision_loss)] // a bound of calls is far below 2^53
    let places = demand.concurrency_per_consumer.max(1) as f64 * utilisation;
    // NaN and negative rates become 0 here, and infinite ones times no time at all become 0 below.
    let busy = per_second.max(0.0) * demand.mean_processing.as_secs_f64();
    let wanted = busy / places;
    let wanted = (wanted * (1.0 - ROUNDING)).ceil();
    // A cast saturates, and makes 0 of NaN.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let wanted = wanted as u64;
    wanted.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_CAPS: Caps = Caps {
        quota_per_second: None,
        partitions: None,
        connections: None,
        connections_per_consumer: 5,
    };

    fn demand(arrival_per_second: f64, processing_seconds: f64, concurrency: usize) -> Demand {
        Demand {
            arrival_per_second,
            mean_processing: Duration::from_secs_f64(processing_seconds),
            concurrency_per_consumer: concurrency,
            utilisation: UTILISATION,
        }
    }

    fn uncapped(demand: Demand) -> u64 {
        required_consumers(&demand, &NO_CAPS).required
    }

    /// B26: `max(1, ceil(arrival / (concurrency / processing * 0.7)))`, to the letter.
    #[test]
    fn b26_the_estimate_is_the_source_documents() {
        for (arrival, processing, concurrency) in [
            (100.0, 0.5, 10_u32),
            (1_000.0, 0.2, 64),
            (3.0, 1.5, 1),
            (0.1, 0.05, 8),
        ] {
            let capacity_per_consumer = f64::from(concurrency) / processing * 0.7;
            let expected = f64::max(1.0, (arrival / capacity_per_consumer).ceil());
            let found = uncapped(demand(arrival, processing, concurrency as usize));
            #[allow(clippy::cast_precision_loss)]
            let found = found as f64;
            assert!(
                (found - expected).abs() < 0.5,
                "{arrival}: {found}, not {expected}"
            );
        }
        // 10 / 0.5 * 0.7 = 14 messages a second and consumer.
        assert_eq!(uncapped(demand(100.0, 0.5, 10)), 8);
    }

    #[test]
    fn a_load_that_fits_exactly_is_not_rounded_up() {
        // 0.1 and 0.7 have no exact binary form.
        for consumers in 1..=200_u32 {
            let exact = f64::from(consumers) * 70.0;
            assert_eq!(uncapped(demand(exact, 0.1, 10)), u64::from(consumers));
            assert_eq!(
                uncapped(demand(exact + 0.01, 0.1, 10)),
                u64::from(consumers) + 1
            );
        }
    }

    #[test]
    fn b26_the_least_cap_holds_and_is_named() {
        let demand = demand(1_000.0, 0.5, 10); // 72 consumers
        let caps = |quota: f64, partitions, connections| Caps {
            quota_per_second: Some(quota),
            partitions: Some(partitions),
            connections: Some(connections),
            connections_per_consumer: 5,
        };
        let capped = |caps| {
            let capacity = required_consumers(&demand, &caps);
            (capacity.required, capacity.capped_by)
        };
        assert_eq!(capped(caps(2_000.0, 100, 500)), (72, None));
        // 30 a second are carried by 30 / 14 = 3 consumers.
        assert_eq!(capped(caps(30.0, 36, 500)), (3, Some(Cap::Quota)));
        assert_eq!(capped(caps(2_000.0, 36, 500)), (36, Some(Cap::Partitions)));
        assert_eq!(capped(caps(2_000.0, 36, 97)), (19, Some(Cap::Connections)));
        let all = required_consumers(&demand, &caps(30.0, 36, 97));
        assert_eq!(
            (all.quota, all.partitions, all.connections),
            (Some(3), Some(36), Some(19))
        );
        assert_eq!(all.uncapped, 72);
    }

    #[test]
    fn there_is_always_at_least_one() {
        let none = Caps {
            quota_per_second: Some(0.0),
            partitions: Some(0),
            connections: Some(3),
            connections_per_consumer: 5,
        };
        let capacity = required_consumers(&demand(1_000.0, 0.5, 10), &none);
        assert_eq!(
            (capacity.required, capacity.capped_by),
            (1, Some(Cap::Partitions))
        );
        assert_eq!(uncapped(demand(0.0, 0.5, 10)), 1);
    }

    #[test]
    fn every_input_has_an_answer() {
        let rates = [
            0.0,
            -1.0,
            1e-300,
            1.0,
            f64::MAX,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        for arrival in rates {
            for processing in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
                for concurrency in [0, 1, usize::MAX] {
                    for utilisation in rates {
                        for quota in rates {
                            let demand = Demand {
                                arrival_per_second: arrival,
                                mean_processing: processing,
                                concurrency_per_consumer: concurrency,
                                utilisation,
                            };
                            let caps = Caps {
                                quota_per_second: Some(quota),
                                connections: Some(u64::MAX),
                                connections_per_consumer: 0,
                                ..NO_CAPS
                            };
                            let capacity = required_consumers(&demand, &caps);
                            assert!(capacity.required >= 1, "{demand:?}");
                            assert!(capacity.required <= capacity.uncapped, "{demand:?}");
                        }
                    }
                }
            }
        }
        let endless = demand(f64::INFINITY, 0.1, 10);
        assert_eq!(uncapped(endless), u64::MAX);
        assert_eq!(uncapped(demand(f64::NAN, 0.1, 10)), 1);
        // No time at all: one consumer keeps up with anything.
        assert_eq!(uncapped(demand(f64::INFINITY, 0.0, 10)), 1);
        let doubtful = Demand {
            utilisation: f64::NAN,
            ..demand(100.0, 0.5, 10)
        };
        assert_eq!(uncapped(doubtful), 8, "0.7 instead of what is no share");
    }
}
