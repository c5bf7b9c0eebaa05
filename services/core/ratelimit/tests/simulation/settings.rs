//! What a world is like. Everything follows from the seed.

use tidings_ratelimit::{Limit, Rule, ScopeLimits, exact_limits};

use crate::random::Random;

pub(crate) const MILLI: u64 = 1_000;
pub(crate) const SECOND: u64 = 1_000_000;

/// How records travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delays {
    /// As measured on a quiet machine: 0.3 to 3 ms each way.
    Quiet,
    /// Up to 25 ms each way.
    Slow,
    /// As slow, and now and then nothing for up to two seconds.
    Stalls,
}

#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) workers: usize,
    pub(crate) scopes: Vec<(String, ScopeLimits)>,
    pub(crate) delays: Delays,
    pub(crate) lost_permille: u64,
    pub(crate) doubled_permille: u64,
    /// Steps of the broker's clock, in milliseconds either way; 0: none.
    pub(crate) steps_millis: u64,
    /// Chaos of all kinds until [`Settings::calm_from`].
    pub(crate) chaos: bool,
    /// Every worker always has more than it may send, in these classes; empty: messages come now and then.
    pub(crate) saturated: Vec<usize>,
    pub(crate) groups_permille: u64,
    pub(crate) chats: u64,
    pub(crate) backlog: usize,
    /// Records before the log's beginning, so that snapshots fall due by offset.
    pub(crate) first_offset: i64,
    pub(crate) search_back: i64,
    /// Some workers lack the machine's second version, which is demanded on the way.
    pub(crate) versions: bool,
    pub(crate) calm_from: u64,
    pub(crate) end: u64,
}

impl Settings {
    pub(crate) fn random(random: &mut Random) -> Self {
        let chaos = !random.chance(150);
        let seconds = random.between(20, 30);
        Self {
            workers: random.between(1, 5) as usize,
            scopes: scopes(random),
            delays: random.pick(&[Delays::Quiet, Delays::Slow, Delays::Stalls]),
            lost_permille: if chaos {
                random.pick(&[0, 0, 20, 100])
            } else {
                0
            },
            doubled_permille: if chaos { random.pick(&[0, 20, 100]) } else { 0 },
            steps_millis: if chaos {
                random.pick(&[0, 0, 200, 5_000, 3_600_000])
            } else {
                0
            },
            chaos,
            saturated: random
                .pick::<&[usize]>(&[&[], &[1], &[1], &[0, 1], &[1, 3], &[0, 1, 2, 3]])
                .to_vec(),
            groups_permille: random.pick(&[0, 100, 500]),
            chats: random.pick(&[5, 60, 2_000]),
            backlog: random.between(5, 60) as usize,
            first_offset: random.pick(&[0, 0, 9_500, 9_900]),
            search_back: random.pick(&[25_000, 100, 500]),
            versions: chaos && random.chance(100),
            calm_from: (seconds - 14) * SECOND,
            end: seconds * SECOND,
        }
    }

    /// How far apart messages are in the slowest scope, about.
    pub(crate) fn slowest_pace(&self) -> u64 {
        let pace = |rule: &Rule| match rule.limit {
            Limit::Window { count, period } => period.as_micros() as u64 / u64::from(count),
            Limit::Spacing { delay } => delay.as_micros() as u64,
            Limit::TokenBucket {
                micro_tokens_per_second,
                ..
            } => 1_400_000_000_000 / micro_tokens_per_second,
        };
        let rules = self.scopes.iter().flat_map(|(_, limits)| &limits.scope);
        rules.map(pace).max().unwrap_or(0)
    }

    /// The main case: workers that are all saturated on one account, nothing goes wrong.
    pub(crate) fn quiet(workers: usize, count: u32, seconds: u64) -> Self {
        let limits = ScopeLimits {
            scope: vec![window(count, 1)],
            ..exact_limits("telegram")
        };
        Self {
            workers,
            scopes: vec![("telegram:main".to_owned(), limits)],
            delays: Delays::Quiet,
            lost_permille: 0,
            doubled_permille: 0,
            steps_millis: 0,
            chaos: false,
            saturated: vec![1],
            groups_permille: 0,
            chats: 1_000_000,
            backlog: (count as usize).max(60),
            first_offset: 0,
            search_back: 25_000,
            versions: false,
            calm_from: 0,
            end: seconds * SECOND,
        }
    }
}

pub(crate) fn window(count: u32, period_seconds: u64) -> Rule {
    Rule::new(Limit::Window {
        count,
        period: std::time::Duration::from_secs(period_seconds),
    })
}

fn scopes(random: &mut Random) -> Vec<(String, ScopeLimits)> {
    let kinds = [
        exact_limits("telegram"),
        exact_limits("telegram"),
        exact_limits("telegram").with(tidings_ratelimit::SourcePreset::Telegram.limits()),
        ScopeLimits {
            scope: vec![window(5, 1), window(60, 6)],
            chat: vec![window(2, 1)],
            group: vec![window(8, 6)],
        },
        tidings_ratelimit::SourcePreset::Discord.limits(),
        ScopeLimits {
            scope: vec![window(200, 1)],
            ..ScopeLimits::default()
        },
    ];
    (0..random.between(1, 2))
        .map(|number| {
            let kind = random.between(0, kinds.len() as u64 - 1) as usize;
            (format!("telegram:{number}"), kinds[kind].clone())
        })
        .collect()
}
