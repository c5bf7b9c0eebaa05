//! What the platform saw, from the simulator's log.

use std::collections::BTreeMap;

use tidings_simulator::log::{Entry, Outcome};

use super::spans::Span;

/// Which message a chat is for. Each kind has chat ids of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Of the backlog.
    Normal,
    High,
    /// On the idle account.
    Lone,
    /// To a group: the id is negative.
    Group,
}

/// Chat ids of one kind.
const KIND_IDS: i64 = 1_000_000_000;

/// Chat ids of one kind in one account.
const ACCOUNT_IDS: i64 = 1_000_000;

impl Kind {
    /// The id of the kind's chat `number` in the account with the index `account`.
    pub(super) fn chat_id(self, account: usize, number: i64) -> i64 {
        let account = i64::try_from(account).unwrap_or(0);
        let within = account * ACCOUNT_IDS + number % ACCOUNT_IDS;
        match self {
            Self::Normal => KIND_IDS + within,
            Self::High => 2 * KIND_IDS + within,
            Self::Lone => 3 * KIND_IDS + within,
            Self::Group => -(KIND_IDS + within),
        }
    }

    pub(super) fn of(chat_id: &str) -> Option<Self> {
        match chat_id.parse::<i64>().ok()? / KIND_IDS {
            1 => Some(Self::Normal),
            2 => Some(Self::High),
            3 => Some(Self::Lone),
            ..0 => Some(Self::Group),
            0 | 4.. => None,
        }
    }
}

/// One call that arrived.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// When, in microseconds since the Unix epoch.
    pub(super) at: i64,
    pub(super) account: String,
    pub(super) chat: String,
    pub(super) kind: Option<Kind>,
    pub(super) accepted: bool,
    pub(super) throttled: bool,
    pub(super) over_limit: bool,
    pub(super) in_penalty: bool,
    worker: Option<String>,
    published_at: Option<i64>,
}

impl Call {
    pub(super) fn of(entry: Entry) -> Self {
        let chat = entry.chat_id.unwrap_or_default();
        Self {
            at: entry.received_at_micros,
            account: entry.account.unwrap_or_default(),
            kind: Kind::of(&chat),
            chat,
            accepted: entry.accepted,
            throttled: entry.answer == Some(Outcome::Status(429)),
            over_limit: entry.over_limit,
            in_penalty: entry.in_penalty,
            worker: entry.attempt.as_deref().and_then(worker),
            published_at: entry.text.as_deref().and_then(published_at),
        }
    }

    /// From its publication upstream to its arrival, in milliseconds.
    pub(super) fn took_ms(&self) -> Option<f64> {
        #[allow(clippy::cast_precision_loss)]
        let micros = (self.at - self.published_at?) as f64;
        Some(micros / 1_000.0)
    }
}

/// The owner in `<message_id>/<owner>/<fence>/<attempt>`.
fn worker(attempt: &str) -> Option<String> {
    attempt.split('/').nth(1).map(str::to_owned)
}

/// The feed writes it at the end of each text.
fn published_at(text: &str) -> Option<i64> {
    text.rsplit(' ').next()?.parse().ok()
}

/// The calls that were accepted in `spans`.
pub(super) fn accepted<'a>(calls: &'a [Call], spans: &'a [Span]) -> impl Iterator<Item = &'a Call> {
    calls
        .iter()
        .filter(|call| call.accepted && spans.iter().any(|span| span.has(call.at)))
}

/// The least served worker's calls for each of the most served one's, among those that were served, and how many those
/// are: the group may give a worker no partition of a lane.
pub(super) fn fairness<'a>(calls: impl Iterator<Item = &'a Call>) -> Option<(f64, usize)> {
    let mut served: BTreeMap<&str, u32> = BTreeMap::new();
    for worker in calls.filter_map(|call| call.worker.as_deref()) {
        *served.entry(worker).or_default() += 1;
    }
    let (least, most) = (served.values().min()?, served.values().max()?);
    Some((f64::from(*least) / f64::from(*most), served.len()))
}

/// The most calls in any stretch of `micros`, which is closed at its old end and open at its new.
pub(super) fn most_within(calls: &[&Call], micros: i64) -> usize {
    let mut oldest = 0;
    let ends = calls.iter().enumerate();
    ends.map(|(newest, call)| {
        while calls
            .get(oldest)
            .is_some_and(|old| old.at <= call.at - micros)
        {
            oldest += 1;
        }
        newest + 1 - oldest
    })
    .max()
    .unwrap_or(0)
}

/// By how many microseconds the worst call came before `micros` had passed since the one `count` calls earlier.
pub(super) fn shortest_by(calls: &[&Call], count: usize, micros: i64) -> i64 {
    let pairs = calls.iter().zip(calls.iter().skip(count));
    pairs
        .map(|(old, new)| micros - (new.at - old.at))
        .max()
        .unwrap_or(0)
        .max(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_tells_its_kind() {
        for kind in [Kind::Normal, Kind::High, Kind::Lone, Kind::Group] {
            for account in [0, 1, 499] {
                let chat = kind.chat_id(account, 599_999).to_string();
                assert_eq!(Kind::of(&chat), Some(kind), "{chat}");
            }
        }
        assert_eq!(Kind::of("7"), None);
        assert_eq!(Kind::of("@channel"), None);
    }

    fn call(at: i64, worker: &str) -> Call {
        Call::of(Entry {
            seq: 1,
            received_at_micros: at,
            account: Some("main".into()),
            chat_id: Some("1000000007".into()),
            thread_id: None,
            text: Some(format!("bench {}", at - 2_000)),
            parse_mode: None,
            attempt: Some(format!("m/{worker}/1/1")),
            accepted: true,
            over_limit: false,
            exceeded: None,
            in_penalty: false,
            message_id: Some(1),
            answer: Some(Outcome::Status(200)),
        })
    }

    #[test]
    fn a_window_is_open_at_one_end() {
        let calls = [
            call(0, "a"),
            call(10, "a"),
            call(1_000, "a"),
            call(1_001, "a"),
        ];
        let calls: Vec<&Call> = calls.iter().collect();
        assert_eq!(most_within(&calls, 1_000), 3);
        assert_eq!(most_within(&calls, 1_002), 4);
        assert_eq!(shortest_by(&calls, 3, 1_002), 1);
        assert_eq!(shortest_by(&calls, 3, 1_001), 0);
        assert_eq!(calls[0].took_ms(), Some(2.0));
    }

    #[test]
    fn fairness_is_of_those_served() {
        let calls = [call(0, "a"), call(1, "a"), call(2, "b")];
        assert_eq!(fairness(calls.iter()), Some((0.5, 2)));
        assert_eq!(fairness([].iter()), None);
    }
}
