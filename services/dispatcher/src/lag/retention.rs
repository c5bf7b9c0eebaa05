//! How much of a lane's retention its oldest unread record has used up (faults, row 44).

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::Message as _;
use rdkafka::message::OwnedMessage;
use tidings_delivery::PartitionId;
use tidings_edge::capacity::PartitionState;

use crate::calls::now_micros;

/// The part of a lane's retention that its oldest unread record may reach before it alarms (design §4).
pub(super) const ALARM: f64 = 0.5;

/// The alarm ends below this: a little less, so that it does not come and go.
pub(super) const CLEAR: f64 = 0.45;

/// When the oldest record of each partition was written that is held here and not committed past. A message that waits in
/// Postgres is committed past: retention takes nothing from it.
pub(super) fn oldest_unread<'a>(
    owned: &BTreeMap<PartitionId, &PartitionState>,
    held: impl Iterator<Item = (PartitionId, &'a OwnedMessage)>,
) -> BTreeMap<PartitionId, i64> {
    let mut oldest = BTreeMap::new();
    for (id, record) in held {
        let unread = owned
            .get(&id)
            .is_some_and(|state| record.offset() >= state.next());
        if let (true, Some(written)) = (unread, record.timestamp().to_millis()) {
            let least = oldest.entry(id).or_insert(written);
            *least = written.min(*least);
        }
    }
    oldest
}

pub(super) fn age(written_millis: i64) -> Duration {
    let millis = (now_micros() / 1_000).saturating_sub(written_millis);
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// How much of a lane's retention a partition's oldest unread record has used up, 0.0 to 1.0. `age` is that of what is
/// held here; what was not fetched yet is known by halves.
pub(super) fn part(
    state: &PartitionState,
    past_half: bool,
    age: Option<Duration>,
    retention: Option<Duration>,
) -> f64 {
    if state.deleted_unread() > 0 {
        return 1.0;
    }
    if state.lag() == 0 {
        return 0.0;
    }
    let held = match (age, retention) {
        (Some(age), Some(retention)) if !retention.is_zero() => {
            (age.as_secs_f64() / retention.as_secs_f64()).min(1.0)
        }
        (Some(_) | None, Some(_) | None) => 0.0,
    };
    if past_half { held.max(ALARM) } else { held }
}

#[cfg(test)]
mod tests {
    use tidings_edge::capacity::LanePlace;

    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn state(first: i64, end: i64, committed: i64) -> PartitionState {
        PartitionState {
            place: LanePlace {
                topic: "tidings.telegram.high".into(),
                partition: 0,
            },
            first,
            end,
            committed: Some(committed),
        }
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}");
    }

    #[test]
    fn f44_the_oldest_unread_record_is_set_against_the_retention() {
        let lagging = state(0, 10, 5);
        near(part(&lagging, false, Some(DAY), Some(4 * DAY)), 0.25);
        near(part(&lagging, false, Some(9 * DAY), Some(4 * DAY)), 1.0);
        near(part(&lagging, false, Some(DAY), None), 0.0);
        near(part(&lagging, false, Some(DAY), Some(Duration::ZERO)), 0.0);
    }

    #[test]
    fn f44_what_is_not_fetched_alarms_by_what_the_brokers_say() {
        let lagging = state(0, 10, 5);
        near(part(&lagging, true, None, Some(DAY)), 0.5);
        near(part(&lagging, true, Some(DAY * 3), Some(DAY * 4)), 0.75);
        near(part(&state(0, 10, 10), true, None, Some(DAY)), 0.0);
    }

    #[test]
    fn f44_what_was_deleted_unread_is_all_of_it() {
        near(part(&state(7, 10, 5), false, None, Some(DAY)), 1.0);
        near(part(&state(10, 10, 5), false, None, None), 1.0);
    }
}
