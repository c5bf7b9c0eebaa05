//! The platform: it counts what arrives, and answers 429 when it likes.

use std::collections::{BTreeMap, VecDeque};

use tidings_ratelimit::{Limit, Rule, ScopeLimits, Target};
use uuid::Uuid;

use crate::log::Log;
use crate::settings::SECOND;

/// How long before a call's arrival its grant may have been given: horizon, slack and the way.
const GRANT_AGE: u64 = SECOND;
/// How late calls may start after the 429 that they should have known of (design §9).
const EXCUSED: u64 = 100_000;

/// A hold at the platform.
#[derive(Debug)]
pub(crate) struct Penalty {
    pub(crate) target: Target,
    /// When the platform began it.
    pub(crate) began: u64,
    pub(crate) until: u64,
    /// When the first worker was answered.
    pub(crate) answered: Option<u64>,
    /// Where its record lies: log and offset.
    pub(crate) recorded: Vec<(Uuid, i64)>,
    /// Which workers know of it, since when.
    pub(crate) told: BTreeMap<usize, u64>,
}

/// What arrived, per level that is limited.
#[derive(Debug, Default)]
struct Level {
    arrivals: VecDeque<u64>,
}

/// One scope's limits, as they were and are.
#[derive(Debug)]
struct Counted {
    /// The limits and since when they hold at the platform.
    eras: Vec<(u64, ScopeLimits)>,
    scope: Level,
    chats: BTreeMap<String, Level>,
}

#[derive(Debug, Default)]
pub(crate) struct Platform {
    scopes: BTreeMap<String, Counted>,
    pub(crate) penalties: Vec<Penalty>,
    /// A chat answered 429 without a name: until then the account answers so.
    pub(crate) unnamed: BTreeMap<String, u64>,
    /// The next call of a scope is answered so, for that many seconds.
    pub(crate) next: BTreeMap<String, (Kind, u64)>,
    pub(crate) accepted: u64,
    /// When the last hold ends.
    pub(crate) held_until: u64,
}

/// What a 429 names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Chat,
    Account,
    Address,
    Unnamed,
}

/// A call that arrives.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) worker: usize,
    pub(crate) scope: String,
    pub(crate) chat: String,
    pub(crate) started: u64,
}

/// What the platform found wrong, or its answer.
pub(crate) type Arrival = Result<Result<(), (Target, u64)>, String>;

impl Platform {
    pub(crate) fn add_scope(&mut self, scope: &str, limits: &ScopeLimits) {
        let counted = Counted {
            eras: vec![(0, limits.clone())],
            scope: Level::default(),
            chats: BTreeMap::new(),
        };
        self.scopes.insert(scope.to_owned(), counted);
    }

    /// Whether these are the scope's limits, now and hereafter.
    pub(crate) fn has(&self, scope: &str, limits: &ScopeLimits) -> bool {
        let eras = self.scopes.get(scope).map(|counted| &counted.eras);
        eras.and_then(|eras| eras.last())
            .is_some_and(|(_, last)| last == limits)
    }

    /// Other limits from `at` on.
    pub(crate) fn change(&mut self, scope: &str, limits: ScopeLimits, at: u64) {
        if let Some(counted) = self.scopes.get_mut(scope) {
            counted.eras.push((at, limits));
        }
    }

    pub(crate) fn arrive(&mut self, call: &Call, log: &Log, strict: bool, now: u64) -> Arrival {
        let counted = self.scopes.get_mut(&call.scope).expect("a known scope");
        counted.count(&call.chat, log, now)?;
        self.check_penalties(call, log, strict, now)?;
        if let Some((target, until)) = self.held(call, now) {
            return Ok(Err((target, until)));
        }
        if let Some((kind, seconds)) = self.next.remove(&call.scope) {
            return Ok(Err(self.penalise(kind, seconds, call, now)));
        }
        if self
            .unnamed
            .get(&call.scope)
            .is_some_and(|until| *until > now)
        {
            return Ok(Err(self.penalise(Kind::Unnamed, 2, call, now)));
        }
        self.accepted += 1;
        Ok(Ok(()))
    }

    fn held(&self, call: &Call, now: u64) -> Option<(Target, u64)> {
        let holds = |penalty: &&Penalty| {
            penalty.until > now && covers(&penalty.target, &call.scope, &call.chat)
        };
        let penalty = self.penalties.iter().find(holds)?;
        Some((penalty.target.clone(), penalty.until))
    }

    fn penalise(&mut self, kind: Kind, seconds: u64, call: &Call, now: u64) -> (Target, u64) {
        let (scope, chat) = (call.scope.clone(), call.chat.clone());
        let until = now + seconds * SECOND;
        self.held_until = self.held_until.max(until);
        let chat_target = Target::Chat {
            scope: scope.clone(),
            chat: chat.clone(),
        };
        let (held, named) = match kind {
            Kind::Chat => (vec![chat_target.clone()], chat_target),
            Kind::Account => {
                let target = Target::Account { scope };
                (vec![target.clone()], target)
            }
            Kind::Address => {
                let platform = "telegram".to_owned();
                let target = Target::Address { platform };
                (vec![target.clone()], target)
            }
            Kind::Unnamed => {
                let second = self.unnamed.get(&scope).is_some_and(|until| *until > now);
                let account = Target::Account {
                    scope: scope.clone(),
                };
                let held = if second {
                    vec![chat_target, account]
                } else {
                    vec![chat_target]
                };
                self.unnamed.entry(scope.clone()).or_insert(until);
                (held, Target::Unnamed { scope, chat })
            }
        };
        for target in held {
            self.penalties.push(Penalty {
                target,
                began: now,
                until,
                answered: None,
                recorded: Vec::new(),
                told: BTreeMap::new(),
            });
        }
        (named, until)
    }

    /// No call inside a penalty, unless it started before its worker could know (design §9).
    fn check_penalties(
        &self,
        call: &Call,
        log: &Log,
        strict: bool,
        now: u64,
    ) -> Result<(), String> {
        for penalty in &self.penalties {
            let inside =
                penalty.began < now && now + log.stolen(penalty.began, now) < penalty.until;
            if !inside || !covers(&penalty.target, &call.scope, &call.chat) {
                continue;
            }
            let told = penalty.told.get(&call.worker);
            if told.is_some_and(|told| call.started > *told) {
                return Err(format!("in_penalty: {call:?} knew of {penalty:?}"));
            }
            let late = penalty
                .answered
                .is_some_and(|at| call.started > at + EXCUSED);
            if strict && late {
                return Err(format!(
                    "in_penalty: {call:?} should have known of {penalty:?}"
                ));
            }
        }
        Ok(())
    }

    /// An operator ended the scope's penalties.
    pub(crate) fn forgive(&mut self, scope: &str) {
        self.penalties
            .retain(|penalty| penalty.target.name() != scope);
        self.unnamed.remove(scope);
    }

    pub(crate) fn forget(&mut self, now: u64) {
        self.penalties.retain(|penalty| penalty.until > now);
        self.unnamed.retain(|_, until| *until > now);
    }
}

impl Counted {
    fn count(&mut self, chat: &str, log: &Log, now: u64) -> Result<(), String> {
        let group = chat.starts_with('-');
        let eras = &self.eras;
        self.scope
            .count(|rules| rules.scope.clone(), eras, log, now)?;
        let level = self.chats.entry(chat.to_owned()).or_default();
        level.count(
            |rules| {
                let more = if group {
                    rules.group.clone()
                } else {
                    Vec::new()
                };
                [rules.chat.clone(), more].concat()
            },
            eras,
            log,
            now,
        )
    }
}

impl Level {
    /// Each rule that held all the time that it looks at must be kept by the arrivals.
    fn count(
        &mut self,
        rules: impl Fn(&ScopeLimits) -> Vec<Rule>,
        eras: &[(u64, ScopeLimits)],
        log: &Log,
        now: u64,
    ) -> Result<(), String> {
        self.arrivals.push_back(now);
        if self.arrivals.len() > 2_000 {
            self.arrivals.pop_front();
        }
        for (index, (since, limits)) in eras.iter().enumerate() {
            let until = eras.get(index + 1).map_or(u64::MAX, |(at, _)| *at);
            if until <= now {
                continue;
            }
            for rule in rules(limits) {
                self.check(rule, *since, log, now)?;
            }
        }
        Ok(())
    }

    fn check(&self, rule: Rule, since: u64, log: &Log, now: u64) -> Result<(), String> {
        let (count, period) = match rule.limit {
            Limit::Window { count, period } => (count as usize, period.as_micros() as u64),
            Limit::Spacing { delay } => (1, delay.as_micros() as u64),
            Limit::TokenBucket {
                micro_tokens_per_second,
                burst,
                ..
            } => {
                return self.check_bucket(micro_tokens_per_second, burst, since, log, now);
            }
        };
        let Some(before) = self.arrivals.len().checked_sub(count + 1) else {
            return Ok(());
        };
        let before = self.arrivals[before];
        let stolen = log.stolen(before.saturating_sub(GRANT_AGE), now) + log.misled(before, now);
        if before >= since && now - before + stolen < period {
            return Err(format!(
                "over_limit: {rule:?} broken, {count} + 1 arrivals within {} µs",
                now - before
            ));
        }
        Ok(())
    }

    /// A bucket that was full at `since` never runs dry.
    fn check_bucket(
        &self,
        micro_rate: u64,
        burst: u32,
        since: u64,
        log: &Log,
        now: u64,
    ) -> Result<(), String> {
        let arrivals = self.arrivals.iter().filter(|at| **at >= since);
        let stolen = log.stolen(since.saturating_sub(GRANT_AGE), now) as i128;
        let interval = 1_000_000_000_000_i128 / i128::from(micro_rate);
        let tolerance = interval * i128::from(burst - 1) + stolen;
        let mut theoretical = i128::from(since);
        for at in arrivals {
            let at = i128::from(*at);
            if at < theoretical - tolerance {
                return Err(format!(
                    "over_limit: bucket {micro_rate}/{burst} empty at {at}"
                ));
            }
            theoretical = theoretical.max(at) + interval;
        }
        Ok(())
    }
}

fn covers(target: &Target, scope: &str, chat: &str) -> bool {
    match target {
        Target::Chat {
            scope: own,
            chat: id,
        }
        | Target::Unnamed {
            scope: own,
            chat: id,
        } => own == scope && id == chat,
        Target::Account { scope: own } => own == scope,
        Target::Address { .. } => true,
    }
}
