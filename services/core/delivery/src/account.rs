use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::breaker::Breaker;
use crate::machine::Refusals;
use crate::{Class, Moment, SlotId};

/// An account's index in [`Accounts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AccountId(pub(crate) usize);

/// A bulkhead: what one account may have on its way, so that a slow one takes no other's place (design §8, B22).
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) name: Arc<str>,
    /// Messages from admission to the outcome of their call, by class, so that no class waits behind another's queue.
    pub(crate) admitted: [usize; Class::ALL.len()],
    pub(crate) calling: usize,
    /// Calls at once, where the account has a bound of its own.
    pub(crate) calls_limit: Option<usize>,
    /// Whether a call needs a permit.
    pub(crate) limited: bool,
    /// Permits asked for and not granted.
    pub(crate) wanted: usize,
    /// Heads that wait for admission, by class, in the order in which they became heads.
    pub(crate) waiting: [VecDeque<SlotId>; Class::ALL.len()],
    /// Admitted, claimed and permitted, waiting for a place to call, by class.
    pub(crate) ready: [VecDeque<SlotId>; Class::ALL.len()],
    pub(crate) held_until: Moment,
    pub(crate) breaker: Breaker,
    pub(crate) refusals: Refusals,
    /// The chat that last got a 429 which named nothing, and when: a second chat's makes it the account's (L9).
    pub(crate) unnamed_hold: Option<(Arc<str>, Moment)>,
}

/// The accounts seen by this worker. Bounded by the configuration: a message for an account that is not configured is
/// refused before it comes here.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    by_name: HashMap<Arc<str>, AccountId>,
    all: Vec<Account>,
}

impl Accounts {
    pub(crate) fn id(&mut self, name: &Arc<str>) -> AccountId {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let id = AccountId(self.all.len());
        self.all.push(Account {
            name: Arc::clone(name),
            admitted: [0; Class::ALL.len()],
            calling: 0,
            calls_limit: None,
            limited: false,
            wanted: 0,
            waiting: Default::default(),
            ready: Default::default(),
            held_until: Moment::default(),
            breaker: Breaker::default(),
            refusals: Refusals::default(),
            unnamed_hold: None,
        });
        self.by_name.insert(Arc::clone(name), id);
        id
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn get(&mut self, id: AccountId) -> &mut Account {
        &mut self.all[id.0]
    }

    /// Every account of the platform that `name` (`platform:alias`) belongs to.
    pub(crate) fn of_same_platform(&self, id: AccountId) -> Vec<AccountId> {
        let platform = platform(&self.all[id.0].name);
        (0..self.all.len())
            .filter(|i| self::platform(&self.all[*i].name) == platform)
            .map(AccountId)
            .collect()
    }
}

fn platform(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}
