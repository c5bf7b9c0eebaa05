//! What is printed.

use std::time::Duration;

use serde_json::{Value, json};
use tidings_delivery::{Cap, UTILISATION};

use super::facts::{Facts, LaneFacts, PartitionFacts};
use crate::out::line;

const UTILISATION_SOURCE: &str = "fixed: the rest is for bursts";

const CONNECTIONS_SOURCE: &str =
    "the state database's max_connections; dispatcher.database_connections + 1 a consumer";

pub(super) fn json(facts: &Facts) {
    let capacity = &facts.capacity;
    line(json!({
        "required_consumers": capacity.required,
        "uncapped": capacity.uncapped,
        "capped_by": capacity.capped_by.map(Cap::word),
        "inputs": {
            "arrival_per_second": {"value": facts.arrival.value, "source": facts.arrival.source},
            "processing_seconds": {"value": facts.processing.value.as_secs_f64(), "source": facts.processing.source},
            "concurrency_per_consumer": {"value": facts.concurrency.value, "source": facts.concurrency.source},
            "utilisation": {"value": UTILISATION, "source": UTILISATION_SOURCE},
        },
        "caps": caps_json(facts),
    }));
    facts.lanes.iter().map(lane_json).for_each(line);
}

fn caps_json(facts: &Facts) -> Value {
    let (capacity, room) = (&facts.capacity, &facts.room);
    let accounts = facts.quotas.iter().map(|quota| {
        json!({
            "account": quota.account,
            "per_second": quota.per_second.value,
            "source": quota.per_second.source,
        })
    });
    json!({
        "quota": {
            "consumers": capacity.quota,
            "per_second": facts.quota_per_second,
            "accounts": accounts.collect::<Vec<Value>>(),
        },
        "partitions": {"consumers": capacity.partitions, "source": "Kafka: the partitions of all lanes"},
        "connections": {
            "consumers": capacity.connections,
            "max_connections": room.max_connections,
            "reserved": room.reserved,
            "own_bound": room.own_bound,
            "per_consumer": facts.connections_per_consumer,
            "source": CONNECTIONS_SOURCE,
        },
    })
}

fn lane_json(lane: &LaneFacts) -> Value {
    let partitions = lane
        .partitions
        .iter()
        .map(|PartitionFacts { state, oldest_age }| {
            json!({
                "partition": state.place.partition,
                "first": state.first,
                "end": state.end,
                "committed": state.committed,
                "lag": state.lag(),
                "deleted_unread": state.deleted_unread(),
                "oldest_age_seconds": oldest_age.map(|age| age.as_secs_f64()),
            })
        });
    json!({
        "lane": lane.topic,
        "lag": lane.lag(),
        "oldest_age_seconds": lane.oldest_age().map(|age| age.as_secs_f64()),
        "unknown_ages": lane.unknown_ages(),
        "retention_seconds": lane.retention.map(|retention| retention.as_secs_f64()),
        "lag_of_retention": lane.lag_of_retention(),
        "deleted_unread": lane.deleted_unread(),
        "alarm": lane.alarms(),
        "remedy": lane.alarms().then(|| remedy(lane)),
        "partitions": partitions.collect::<Vec<Value>>(),
    })
}

pub(super) fn text(facts: &Facts) {
    line(head(facts));
    line("\ninputs");
    let input = |name: &str, value: String, source: &str| {
        line(format_args!("  {name:<12} {value:<26} {source}"))
    };
    let arrival = format!("{:.1} messages a second", facts.arrival.value);
    input("arrival", arrival, &facts.arrival.source);
    let processing = format!("{:.3} s a message", facts.processing.value.as_secs_f64());
    input("processing", processing, &facts.processing.source);
    let concurrency = format!("{} calls a consumer", facts.concurrency.value);
    input("concurrency", concurrency, &facts.concurrency.source);
    input("utilisation", UTILISATION.to_string(), UTILISATION_SOURCE);
    line("\ncaps");
    caps(facts);
    line(format_args!("\nlanes, as group {} has them", facts.group));
    facts.lanes.iter().for_each(lane);
}

fn head(facts: &Facts) -> String {
    let capacity = &facts.capacity;
    let why = match capacity.capped_by {
        None => String::new(),
        Some(cap) => {
            let cause = match cap {
                Cap::Quota => {
                    "the platforms take no more than that carries: more arrives than they let through, and waits"
                }
                Cap::Partitions => "the lanes have no partitions for more",
                Cap::Connections => "the state database has no connections for more",
            };
            format!(" (the load asks for {}; {cause})", capacity.uncapped)
        }
    };
    format!("required consumers: {}{why}", capacity.required)
}

fn caps(facts: &Facts) {
    let capacity = &facts.capacity;
    let consumers =
        |cap: Option<u64>| cap.map_or("no cap".into(), |most| format!("{most} consumer(s)"));
    let cap = |name: &str, most: Option<u64>, from: String| {
        line(format_args!("  {name:<12} {:<26} {from}", consumers(most)));
    };
    let quota = match facts.quota_per_second {
        Some(quota) => format!("{quota:.1} messages a second over all accounts"),
        None => "not every account has a limit".into(),
    };
    cap("quota", capacity.quota, quota);
    for quota in &facts.quotas {
        let value = quota.per_second.value;
        let each = value.map_or("no limit".into(), |value| format!("{value:.1} a second"));
        line(format_args!(
            "    {}: {each} ({})",
            quota.account, quota.per_second.source
        ));
    }
    let partitions = format!("the lanes have {} partitions", facts.partitions);
    cap("partitions", capacity.partitions, partitions);
    let room = &facts.room;
    let own = room.own_bound.map_or(String::new(), |own| {
        format!(", {own} for this database or user")
    });
    let connections = format!(
        "{} of {} connections are usable{own}; {} a consumer (dispatcher.database_connections + 1)",
        room.usable(),
        room.max_connections,
        facts.connections_per_consumer
    );
    cap("connections", capacity.connections, connections);
}

fn lane(lane: &LaneFacts) {
    let kept = lane.retention.map_or("for ever".into(), rounded);
    let oldest = match (lane.oldest_age(), lane.lag_of_retention()) {
        (Some(age), Some(part)) => format!(
            ", oldest {} old: {:.0} % of {kept}",
            rounded(age),
            part * 100.0
        ),
        (Some(age), None) => format!(", oldest {} old; kept {kept}", rounded(age)),
        (None, _) => format!("; kept {kept}"),
    };
    line(format_args!(
        "  {}: {} behind{oldest}",
        lane.topic,
        lane.lag()
    ));
    for PartitionFacts { state, oldest_age } in &lane.partitions {
        if state.lag() == 0 && state.deleted_unread() == 0 {
            continue;
        }
        let age = oldest_age.map_or("not read in time".into(), |age| {
            format!("{} old", rounded(age))
        });
        line(format_args!(
            "    partition {}: {} behind {}, oldest {age}",
            state.place.partition,
            state.lag(),
            state.end
        ));
    }
    if lane.alarms() {
        line(format_args!("    ALARM: {}", remedy(lane)));
    }
}

fn remedy(lane: &LaneFacts) -> String {
    let what = match lane.deleted_unread() {
        0 => "the oldest unread record has used up more than half of the lane's retention, and is deleted at the whole".into(),
        deleted => format!("{deleted} records were deleted before the group was done with them"),
    };
    let topic = &lane.topic;
    format!(
        "{what}; see that dispatchers run and are not held up (`tidings doctor`, `tidings limits`, `tidings deferred list`), \
         run as many as are required, or win time: raise kafka.lane_retention everywhere, and kafka-configs.sh --alter \
         --entity-type topics --entity-name {topic} --add-config retention.ms=..."
    )
}

fn rounded(time: Duration) -> String {
    humantime::format_duration(Duration::from_secs(time.as_secs())).to_string()
}
