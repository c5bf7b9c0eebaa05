//! The beginning of a log, of a scope and of a process.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::scope::Scope;
use super::{Incarnation, MAX_INCARNATIONS, MAX_SCOPES, MAX_WISHES, State};
use crate::{LogTime, ScopeLimits};

/// A process that was not seen for this long is forgotten with the next snapshot.
const ABSENT_AFTER: Duration = Duration::from_secs(600);

impl State {
    /// Nothing that was said before counts. Safe at any time, because every scope begins anew with full windows.
    pub(super) fn begin_log(&mut self, log_id: Uuid) {
        self.log_id = log_id;
        self.version = 1;
        self.long_gap = false;
        self.time = LogTime(0);
        self.live_until = LogTime(0);
        self.snapshot_time = LogTime(0);
        self.incarnations.clear();
        self.addresses.clear();
        self.wishes.clear();
        self.scopes.clear();
    }

    /// Begins a scope, unless it was.
    pub(super) fn begin_scope(&mut self, name: &str, limits: ScopeLimits) {
        if !self.scopes.contains_key(name) && self.scopes.len() < MAX_SCOPES {
            let scope = Scope::begin(limits, self.time);
            self.live_until = self.live_until.max(scope.live_until());
            self.scopes.insert(Arc::from(name), scope);
        }
    }

    /// Whether this `Reserve` is new.
    pub(super) fn note_seq(&mut self, incarnation: Uuid, seq: u64) -> bool {
        let seen = self.time;
        if let Some(known) = self.incarnations.get_mut(&incarnation) {
            known.seen = seen;
            let new = seq > known.seq;
            known.seq = known.seq.max(seq);
            return new;
        }
        if self.incarnations.len() >= MAX_INCARNATIONS {
            let oldest = self.incarnations.iter().min_by_key(|(_, known)| known.seen);
            if let Some((&oldest, _)) = oldest {
                self.incarnations.remove(&oldest);
            }
        }
        self.incarnations
            .insert(incarnation, Incarnation { seq, seen });
        true
    }

    /// Whether an operator's wish is new.
    pub(super) fn note_wish(&mut self, id: Uuid) -> bool {
        if self.wishes.contains(&id) {
            return false;
        }
        if self.wishes.len() >= MAX_WISHES {
            self.wishes.pop_front();
        }
        self.wishes.push_back(id);
        true
    }

    /// Forgets what is of no use any more, with each snapshot.
    pub(super) fn forget_absent(&mut self) {
        let now = self.time;
        self.incarnations
            .retain(|_, known| known.seen.after(ABSENT_AFTER) >= now);
        self.addresses.retain(|_, hold| hold.until > now);
        self.scopes.values_mut().for_each(|scope| scope.forget(now));
    }
}
