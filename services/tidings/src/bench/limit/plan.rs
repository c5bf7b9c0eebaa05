//! What one run does, and what it must show.

use std::time::Duration;

use tidings_simulator::limits::{Enforce, Limits, WindowLimit};

use super::options::Chaos;

/// Telegram's limit of an account, in messages a second (reference/platforms.md, Telegram).
pub(super) const TELEGRAM_PER_SECOND: u32 = 30;

/// Partitions of each lane: each of up to twelve workers has one at least.
pub(super) const PARTITIONS: u64 = 12;

/// The most `normal` messages that are kept waiting, but for the plans that name more.
const MOST: u64 = 10_000;

/// The pause between two lone messages: far less than a limit allows.
const LONE_PAUSE: Duration = Duration::from_millis(200);

/// One run.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// What its line is called.
    pub(super) name: &'static str,
    pub(super) workers: usize,
    pub(super) accounts: usize,
    /// How long it is measured.
    pub(super) seconds: u64,
    /// Each account's limit in messages a second, alone; `None` are Telegram's exact limits.
    pub(super) rate: Option<u32>,
    /// Further limits of each account, as keys of `[accounts."…".limits]` in TOML.
    pub(super) further_limits: &'static str,
    pub(super) chaos: Option<Chaos>,
    /// Single messages on the idle account, before it is saturated.
    pub(super) lone: u32,
    /// The pause between two of them.
    pub(super) lone_pause: Duration,
    /// `normal` messages of each account that are kept waiting; `None`: of one account so many that a worker with one
    /// partition of twelve does not run out of them if all are served alike, of more what is sent in ten seconds.
    pub(super) backlog: Option<u64>,
    /// What goes to the lane `high` meanwhile.
    pub(super) high: High,
    /// Whether one group has a backlog too.
    pub(super) group: bool,
    pub(super) bounds: Bounds,
}

/// What goes to the lane `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum High {
    None,
    /// Two messages a second, all on one partition, and so on one worker.
    Trickle,
    /// More than the first account's limit, on all partitions.
    Endless,
}

/// What a run must show beyond that nothing was over a limit or in a penalty.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bounds {
    /// The least share of the limits that is used.
    pub(super) used_share: Option<f64>,
    /// The longest median wait of a lone message.
    pub(super) lone_wait_p50_ms: Option<f64>,
    /// The longest wait of `high`, one in a hundred aside.
    pub(super) high_wait_p99_ms: Option<f64>,
    /// The most records of the log for each message.
    pub(super) records_per_message: Option<f64>,
    /// The least share of a group's limit that is used.
    pub(super) group_share: Option<f64>,
    /// The longest that no `normal` message is sent under endless `high`.
    pub(super) normal_pause_ms: Option<f64>,
    /// Whether the limits proposed allow more than the platform's, so that being over them is what is shown.
    pub(super) over_limit_is_shown: bool,
}

impl Plan {
    /// Four workers on one account for a minute, and nothing else.
    pub(super) fn named(name: &'static str) -> Self {
        Self {
            name,
            workers: 4,
            accounts: 1,
            seconds: 60,
            rate: None,
            further_limits: "",
            chaos: None,
            lone: 0,
            lone_pause: LONE_PAUSE,
            backlog: None,
            high: High::None,
            group: false,
            bounds: Bounds::default(),
        }
    }

    /// An account's limit, in messages a second.
    pub(super) fn per_second(&self) -> u32 {
        self.rate.unwrap_or(TELEGRAM_PER_SECOND)
    }

    /// `normal` messages of each account that are kept waiting.
    pub(super) fn kept_waiting(&self) -> u64 {
        let per_second = u64::from(self.per_second());
        self.backlog.unwrap_or(match self.accounts {
            1 => (PARTITIONS * self.seconds * per_second / self.workers.max(1) as u64).min(MOST),
            _ => 10 * per_second,
        })
    }

    /// Chats of each account: so many that none has its own limit's next turn before the account's backlog is through.
    pub(super) fn chats(&self) -> u64 {
        let seconds = match self.chaos {
            // The held chat must have something to send meanwhile.
            Some(Chaos::Penalty) => 2,
            Some(
                Chaos::Kill
                | Chaos::RestartAll
                | Chaos::AccountPenalty
                | Chaos::LongPenalty
                | Chaos::Clock
                | Chaos::Truncate
                | Chaos::Delete
                | Chaos::Broker,
            )
            | None => 20,
        };
        seconds * u64::from(self.per_second())
    }

    /// The limits proposed for each account, in TOML.
    pub(super) fn proposal(&self) -> String {
        let further = self.further_limits;
        match self.rate {
            None => further.to_owned(),
            Some(rate) => format!("exact = false\naccount = [\"{rate}/1s\"]\n{further}"),
        }
    }

    /// What the platform holds each account to. It answers 429 where a penalty is wanted, and else only counts: a call
    /// that is too much must not hide those after it.
    pub(super) fn platform_limits(&self) -> Limits {
        let enforce = match self.chaos {
            Some(Chaos::Penalty | Chaos::AccountPenalty | Chaos::LongPenalty) => Enforce::Answer,
            Some(
                Chaos::Kill
                | Chaos::RestartAll
                | Chaos::Clock
                | Chaos::Truncate
                | Chaos::Delete
                | Chaos::Broker,
            )
            | None => Enforce::Count,
        };
        let exact = Limits {
            enforce,
            ..Limits::default()
        };
        match self.rate {
            None => exact,
            Some(count) => Limits {
                account: Some(WindowLimit {
                    count,
                    period_ms: 1_000,
                }),
                chat: None,
                group: None,
                ..exact
            },
        }
    }
}
