//! Rules and what has been used of them. The same for a scope and for each chat.

use std::collections::VecDeque;

use crate::limits::Enforced;
use crate::{LogTime, Rule};

/// A rule in force.
#[derive(Debug, Clone)]
pub(super) struct InForce {
    rule: Rule,
    enforced: Enforced,
    /// What was sent up to then is not known: the rule counts as used up at that time (design §9, full windows).
    pub(super) since: LogTime,
}

impl InForce {
    pub(super) fn new(rule: Rule, since: LogTime) -> Self {
        Self {
            rule,
            enforced: rule.enforced(),
            since,
        }
    }
}

/// The rules of one level.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules(pub(super) Vec<InForce>);

/// What was used of a level's rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Grants in order, as far back as the longest window reaches.
    pub(super) history: VecDeque<LogTime>,
    /// For each rule the theoretical arrival time of a bucket; empty as long as nothing was used.
    pub(super) arrivals: Vec<LogTime>,
}

impl Rules {
    /// Rules that begin with full windows at `since`.
    pub(crate) fn begin<'a>(rules: impl Iterator<Item = &'a Rule>, since: LogTime) -> Self {
        Self(rules.map(|rule| InForce::new(*rule, since)).collect())
    }

    /// Other rules from `now` on. What the old ones made known stays known; the rest counts as used up, so that no
    /// change makes a burst. Give every usage to [`Usage::follow`] afterwards.
    pub(crate) fn replaced<'a>(&self, rules: impl Iterator<Item = &'a Rule>, now: LogTime) -> Self {
        let known_since = self.known_since(now);
        let replace = |rule: &Rule| match self.0.iter().find(|old| old.rule == *rule) {
            Some(old) => old.clone(),
            None => match rule.enforced() {
                Enforced::Window { .. } => InForce::new(*rule, known_since),
                Enforced::Bucket { .. } => InForce::new(*rule, now),
            },
        };
        Self(rules.map(replace).collect())
    }

    /// From when on the histories hold every grant.
    fn known_since(&self, now: LogTime) -> LogTime {
        self.0
            .iter()
            .filter_map(|old| match old.enforced {
                Enforced::Window { period_micros, .. } => {
                    Some(old.since.max(LogTime(now.0.saturating_sub(period_micros))))
                }
                Enforced::Bucket { .. } => None,
            })
            .min()
            .unwrap_or(now)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first time at which the rules allow one more message.
    pub(crate) fn earliest(&self, usage: &Usage) -> LogTime {
        let allowed = |(index, rule): (usize, &InForce)| match rule.enforced {
            Enforced::Window {
                count,
                period_micros,
            } => {
                let oldest = usage.history.len().checked_sub(count);
                let from = oldest.and_then(|index| usage.history.get(index));
                plus(*from.unwrap_or(&rule.since), period_micros)
            }
            Enforced::Bucket {
                tolerance_micros, ..
            } => plus(rule.arrival(usage.arrivals.get(index)), -tolerance_micros),
        };
        self.0
            .iter()
            .enumerate()
            .map(allowed)
            .max()
            .unwrap_or(LogTime(i64::MIN))
    }

    /// One message that starts at `at` at the latest.
    pub(crate) fn charge(&self, usage: &mut Usage, at: LogTime) {
        if self.longest_window() > 0 {
            // In order, also behind one that may start later than this.
            let latest = usage.history.back().map_or(at, |last| at.max(*last));
            usage.history.push_back(latest);
        }
        if self.has_buckets() {
            usage.arrivals.resize(self.0.len(), LogTime(i64::MIN));
            for (rule, arrival) in self.0.iter().zip(&mut usage.arrivals) {
                if let Enforced::Bucket {
                    interval_micros, ..
                } = rule.enforced
                {
                    *arrival = plus(rule.arrival(Some(arrival)).max(at), interval_micros);
                }
            }
        }
    }

    /// Forgets what no rule looks at any more.
    pub(crate) fn trim(&self, usage: &mut Usage, now: LogTime) {
        let longest = self.longest_window();
        while usage
            .history
            .front()
            .is_some_and(|at| plus(*at, longest) <= now)
        {
            usage.history.pop_front();
        }
    }

    /// From when on the usage is like that of a chat that was never seen.
    pub(crate) fn clean_at(&self, usage: &Usage) -> LogTime {
        let longest = self.longest_window();
        let history = usage.history.back().map(|at| plus(*at, longest));
        let buckets = usage.arrivals.iter().copied().max();
        history.max(buckets).unwrap_or(LogTime(i64::MIN))
    }

    /// From when on no rule remembers its beginning.
    pub(crate) fn settled_at(&self) -> LogTime {
        self.0
            .iter()
            .map(|rule| match rule.enforced {
                Enforced::Window { period_micros, .. } => plus(rule.since, period_micros),
                Enforced::Bucket { .. } => rule.arrival(None),
            })
            .max()
            .unwrap_or(LogTime(i64::MIN))
    }

    /// How many messages are allowed at `now`, at once.
    pub(crate) fn free(&self, usage: &Usage, now: LogTime) -> usize {
        let free = |(index, rule): (usize, &InForce)| match rule.enforced {
            Enforced::Window {
                count,
                period_micros,
            } => {
                if plus(rule.since, period_micros) > now {
                    return 0;
                }
                let begin = plus(now, -period_micros);
                let used = usage
                    .history
                    .iter()
                    .rev()
                    .take_while(|at| **at > begin)
                    .count();
                count.saturating_sub(used)
            }
            Enforced::Bucket {
                interval_micros,
                tolerance_micros,
            } => {
                let arrival = rule.arrival(usage.arrivals.get(index)).max(now);
                let room = plus(now, tolerance_micros).0.saturating_sub(arrival.0);
                usize::try_from(room.div_euclid(interval_micros.max(1)) + 1).unwrap_or(0)
            }
        };
        self.0
            .iter()
            .enumerate()
            .map(free)
            .min()
            .unwrap_or(usize::MAX)
    }

    /// How far apart messages are when the level is saturated.
    pub(crate) fn pace_micros(&self) -> i64 {
        self.0
            .iter()
            .map(|rule| rule.rule.pace_micros())
            .max()
            .unwrap_or(0)
    }

    fn longest_window(&self) -> i64 {
        self.0
            .iter()
            .map(|rule| match rule.enforced {
                Enforced::Window { period_micros, .. } => period_micros,
                Enforced::Bucket { .. } => 0,
            })
            .max()
            .unwrap_or(0)
    }

    fn has_buckets(&self) -> bool {
        self.0
            .iter()
            .any(|rule| matches!(rule.enforced, Enforced::Bucket { .. }))
    }
}

impl InForce {
    /// The theoretical arrival time: an unknown past leaves the bucket empty at `since`.
    fn arrival(&self, used: Option<&LogTime>) -> LogTime {
        let Enforced::Bucket {
            interval_micros,
            tolerance_micros,
        } = self.enforced
        else {
            return LogTime(i64::MIN);
        };
        let empty = plus(self.since, interval_micros.saturating_add(tolerance_micros));
        used.map_or(empty, |used| (*used).max(empty))
    }
}

impl Usage {
    /// Adapts to rules that were replaced: buckets keep their level where the rule stayed.
    pub(crate) fn follow(&mut self, old: &Rules, new: &Rules) {
        let kept = |rule: &InForce| {
            let index = old.0.iter().position(|old| old.rule == rule.rule);
            index.and_then(|index| self.arrivals.get(index).copied())
        };
        let arrivals: Vec<Option<LogTime>> = new.0.iter().map(kept).collect();
        self.arrivals = if arrivals.iter().any(Option::is_some) {
            arrivals
                .into_iter()
                .map(|arrival| arrival.unwrap_or(LogTime(i64::MIN)))
                .collect()
        } else {
            Vec::new()
        };
        if new.longest_window() == 0 {
            self.history.clear();
        }
    }

    /// How many grants the windows look at.
    pub(crate) fn remembered(&self) -> usize {
        self.history.len()
    }
}

pub(crate) fn plus(time: LogTime, micros: i64) -> LogTime {
    LogTime(time.0.saturating_add(micros))
}
