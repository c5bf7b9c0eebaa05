//! Who waits for a scope, in which order: fairness between workers and precedence between classes.

use std::collections::BTreeMap;
use std::time::Duration;

use uuid::Uuid;

use super::scope::Asker;
use super::usage::plus;
use crate::record::{DecodeError, Reader, Writer};
use crate::{Class, LogTime};

/// A worker counts among those that share the horizon for this long after it was seen (design §9).
const SEEN_FOR: Duration = Duration::from_secs(2);
/// A worker that does not ask again by its turn keeps its place for this long.
const GRACE: Duration = Duration::from_millis(100);
/// How long after its turn a worker that stays away is forgotten altogether.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(4);
/// The most workers of a scope that are known at once.
pub(super) const MAX_WORKERS: usize = 4_096;

/// A worker with messages of one class that had to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waiter {
    /// Since when it waits, or was last served.
    pub(super) since: LogTime,
    /// How many messages it has.
    pub(super) messages: u32,
    /// When its turn comes.
    pub(super) turn: LogTime,
}

#[derive(Debug, Clone)]
pub(super) struct Line {
    seen: BTreeMap<Uuid, LogTime>,
    waiters: BTreeMap<(Class, Uuid), Waiter>,
    /// When a record last got something for each class.
    granted: [LogTime; 4],
}

impl Line {
    pub(super) fn begin(now: LogTime) -> Self {
        Self {
            seen: BTreeMap::new(),
            waiters: BTreeMap::new(),
            granted: [now; 4],
        }
    }

    /// A worker asked for something.
    pub(super) fn saw(&mut self, incarnation: Uuid, now: LogTime) {
        if self.seen.len() < MAX_WORKERS || self.seen.contains_key(&incarnation) {
            self.seen.insert(incarnation, now);
        }
    }

    pub(super) fn granted(&mut self, class: Class, now: LogTime) {
        if let Some(at) = self.granted.get_mut(class.index()) {
            *at = now;
        }
    }

    /// How many workers share the horizon, `asker` included.
    pub(super) fn workers(&self, asker: Uuid, now: LogTime) -> usize {
        let others = self
            .seen
            .iter()
            .filter(|(id, at)| **id != asker && **at >= now.before(SEEN_FOR))
            .count();
        others + 1
    }

    /// Whether a class before this one waits.
    pub(super) fn is_preceded(&self, class: Class, now: LogTime) -> bool {
        self.waiters
            .iter()
            .take_while(|((other, _), _)| *other < class)
            .any(|(_, waiter)| waiter.is_present(now))
    }

    /// Whether the next slot goes to this asker although another class precedes it: its class waited too long, and it
    /// the longest of its class.
    pub(super) fn is_owed(&self, asker: Asker, patience: Duration, now: LogTime) -> bool {
        let long_ago = now.before(patience);
        let Some(own) = self.waiters.get(&(asker.class, asker.incarnation)) else {
            return false;
        };
        let granted = self.granted.get(asker.class.index());
        asker.class != Class::High
            && own.since <= long_ago
            && granted.is_some_and(|at| *at <= long_ago)
            && self
                .of_class(asker.class)
                .filter(|(_, waiter)| waiter.is_present(now))
                .all(|(id, waiter)| (own.since, asker.incarnation) <= (waiter.since, id))
    }

    /// When the class of this asker will be owed a slot.
    pub(super) fn owed_at(&self, asker: Asker, patience: Duration) -> Option<LogTime> {
        let own = self.waiters.get(&(asker.class, asker.incarnation))?;
        let granted = self.granted.get(asker.class.index())?;
        (asker.class != Class::High).then(|| own.since.max(*granted).after(patience))
    }

    /// How many messages of others are served before this asker's, at most `share` of each.
    pub(super) fn ahead(&self, asker: Asker, share: usize, now: LogTime) -> usize {
        let own = self.waiters.get(&(asker.class, asker.incarnation));
        let place = (own.map_or(now, |own| own.since), asker.incarnation);
        self.messages(asker, share, now, |other| other < place)
    }

    /// The same for an asker that was just served, and so goes to the end.
    pub(super) fn ahead_of_newcomer(&self, asker: Asker, share: usize, now: LogTime) -> usize {
        self.messages(asker, share, now, |_| true)
    }

    fn messages(
        &self,
        asker: Asker,
        share: usize,
        now: LogTime,
        counts: impl Fn((LogTime, Uuid)) -> bool,
    ) -> usize {
        self.of_class(asker.class)
            .filter(|(id, waiter)| {
                *id != asker.incarnation && waiter.is_present(now) && counts((waiter.since, *id))
            })
            .map(|(_, waiter)| share.min(usize::try_from(waiter.messages).unwrap_or(usize::MAX)))
            .sum()
    }

    /// Notes what became of an ask: `left` messages go on waiting until `turn`.
    pub(super) fn note(
        &mut self,
        asker: Asker,
        served: bool,
        left: u32,
        turn: LogTime,
        now: LogTime,
    ) {
        let key = (asker.class, asker.incarnation);
        if left == 0 {
            self.waiters.remove(&key);
            return;
        }
        let kept = self.waiters.get(&key).map(|waiter| waiter.since);
        let since = kept.filter(|_| !served).unwrap_or(now);
        if kept.is_some() || self.waiters.len() < MAX_WORKERS {
            let waiter = Waiter {
                since,
                messages: left,
                turn,
            };
            self.waiters.insert(key, waiter);
        }
    }

    pub(super) fn waiter(&self, asker: Asker) -> Option<&Waiter> {
        self.waiters.get(&(asker.class, asker.incarnation))
    }

    pub(super) fn waiters(&self) -> impl Iterator<Item = (Class, Uuid, &Waiter)> {
        self.waiters
            .iter()
            .map(|((class, id), waiter)| (*class, *id, waiter))
    }

    pub(super) fn forget(&mut self, now: LogTime) {
        self.seen.retain(|_, at| *at >= now.before(SEEN_FOR));
        self.waiters
            .retain(|_, waiter| waiter.turn.after(FORGOTTEN_AFTER) >= now);
    }

    fn of_class(&self, class: Class) -> impl Iterator<Item = (Uuid, &Waiter)> {
        self.waiters
            .range((class, Uuid::nil())..=(class, Uuid::max()))
            .map(|((_, id), waiter)| (*id, waiter))
    }

    pub(super) fn write(&self, out: &mut Writer) {
        out.array(self.seen.iter(), |out, (id, at)| {
            out.id(*id);
            out.long(at.0);
        });
        out.array(self.waiters.iter(), |out, ((class, id), waiter)| {
            out.count(class.index());
            out.id(*id);
            out.long(waiter.since.0);
            out.count(waiter.messages);
            out.long(waiter.turn.0);
        });
        for at in self.granted {
            out.long(at.0);
        }
    }

    pub(super) fn read(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let seen = input.array(MAX_WORKERS, |input| {
            Ok((input.id()?, LogTime(input.long()?)))
        })?;
        let waiters = input.array(MAX_WORKERS, |input| {
            let class = Class::from_index(input.long()?)
                .ok_or(DecodeError::Malformed("a class that does not exist"))?;
            let key = (class, input.id()?);
            let waiter = Waiter {
                since: LogTime(input.long()?),
                messages: input.number(u32::MAX)?,
                turn: LogTime(input.long()?),
            };
            Ok((key, waiter))
        })?;
        let mut granted = [LogTime::default(); 4];
        for at in &mut granted {
            *at = LogTime(input.long()?);
        }
        Ok(Self {
            seen: seen.into_iter().collect(),
            waiters: waiters.into_iter().collect(),
            granted,
        })
    }
}

impl Waiter {
    fn is_present(&self, now: LogTime) -> bool {
        plus(self.turn, crate::time::micros(GRACE)) >= now
    }
}
