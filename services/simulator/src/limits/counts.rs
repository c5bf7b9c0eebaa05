//! What was counted for an account. Pure.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::account::Ruling;
use super::settings::Exceeded;

/// The most seconds kept, the newest ones (an hour).
pub const MAX_SECONDS: usize = 3_600;
/// The most workers told apart.
pub const MAX_WORKERS: usize = 1_024;
/// Stands for the workers beyond [`MAX_WORKERS`].
pub const OTHER_WORKERS: &str = "others";
/// Stands for calls without a readable `tidings-attempt` header.
pub const UNKNOWN_WORKER: &str = "unknown";

/// The longest name of a worker that is read, in bytes; ours are UUIDs.
const MAX_WORKER_BYTES: usize = 64;

/// Counts of one account since the start or the last reset. Calls that Telegram refuses for their own faults are in none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountStats {
    /// Calls that arrived.
    pub arrived: u64,
    /// Of these, those that a person would see.
    pub accepted: u64,
    /// Of these, those that a limit or a penalty refused with 429.
    pub refused: u64,
    /// Of these, those that were too much.
    pub over_limit: u64,
    /// The same by limit.
    pub over_limit_by: BTreeMap<Exceeded, u64>,
    /// Of these, those inside a penalty that was announced.
    pub in_penalty: u64,
    /// The most arrivals, refused ones aside, in any one window of the account's limit; counted up to 100,000. Zero if it
    /// has no limit.
    pub most_in_account_window: u64,
    /// Chats forgotten before their windows were empty, for want of `max_chats`: zero, or the counts may lack some.
    pub forgotten_chats: u64,
    /// Accepted calls by worker, which is the second part of the `tidings-attempt` header.
    pub accepted_by_worker: BTreeMap<String, u64>,
    /// By second of arrival, oldest first, without those in which nothing arrived; only if asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seconds: Vec<SecondStats>,
}

/// Counts of one second; see [`AccountStats`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondStats {
    /// Which one, in seconds since the Unix epoch by the clock at the simulator's start, whatever becomes of it.
    pub unix_second: u64,
    /// Calls that arrived in it.
    pub arrived: u64,
    /// Of these, those accepted.
    pub accepted: u64,
    /// Of these, those that were too much.
    pub over_limit: u64,
    /// Of these, those in penalty.
    pub in_penalty: u64,
}

/// The counts that grow with each call.
#[derive(Debug, Default)]
pub(super) struct Counts {
    all: AccountStats,
    seconds: VecDeque<SecondStats>,
}

impl Counts {
    pub(super) fn count(
        &mut self,
        ruling: &Ruling,
        accepted: bool,
        unix_second: u64,
        attempt: Option<&str>,
    ) {
        let over_limit = u64::from(ruling.exceeded.is_some());
        let all = &mut self.all;
        all.arrived += 1;
        all.accepted += u64::from(accepted);
        all.refused += u64::from(ruling.refusal.is_some());
        all.over_limit += over_limit;
        all.in_penalty += u64::from(ruling.in_penalty);
        if let Some(exceeded) = ruling.exceeded {
            *all.over_limit_by.entry(exceeded).or_default() += 1;
        }
        if accepted {
            count_worker(&mut all.accepted_by_worker, attempt);
        }
        let second = self.second(unix_second);
        second.arrived += 1;
        second.accepted += u64::from(accepted);
        second.over_limit += over_limit;
        second.in_penalty += u64::from(ruling.in_penalty);
    }

    pub(super) fn stats(&self, seconds_from: Option<u64>) -> AccountStats {
        let asked =
            |second: &&SecondStats| seconds_from.is_some_and(|from| second.unix_second >= from);
        AccountStats {
            seconds: self.seconds.iter().filter(asked).copied().collect(),
            ..self.all.clone()
        }
    }

    /// The second's counts. A call that was judged earlier and is counted later may belong to one before the newest; it is
    /// counted in the newest if its own is not there.
    fn second(&mut self, unix_second: u64) -> &mut SecondStats {
        if self
            .seconds
            .back()
            .is_none_or(|last| last.unix_second < unix_second)
        {
            if self.seconds.len() >= MAX_SECONDS {
                self.seconds.pop_front();
            }
            self.seconds.push_back(SecondStats {
                unix_second,
                ..SecondStats::default()
            });
        }
        let last = self.seconds.len() - 1;
        let place = self
            .seconds
            .binary_search_by_key(&unix_second, |second| second.unix_second)
            .unwrap_or(last);
        &mut self.seconds[place]
    }
}

fn count_worker(workers: &mut BTreeMap<String, u64>, attempt: Option<&str>) {
    let worker = attempt.and_then(worker).unwrap_or(UNKNOWN_WORKER);
    if let Some(count) = workers.get_mut(worker) {
        *count += 1;
        return;
    }
    let worker = if workers.len() < MAX_WORKERS {
        worker
    } else {
        OTHER_WORKERS
    };
    *workers.entry(worker.to_owned()).or_default() += 1;
}

/// The owner in `<message_id>/<owner>/<fence>/<attempt>`.
fn worker(attempt: &str) -> Option<&str> {
    let owner = attempt.split('/').nth(1)?;
    (!owner.is_empty() && owner.len() <= MAX_WORKER_BYTES).then_some(owner)
}
