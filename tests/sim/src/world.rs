//! The world: its clock, its parts, and the loop.

use std::collections::{BTreeMap, BTreeSet};

use tidings_delivery::{Limits, SlotId};

use crate::claims::Claims;
use crate::counts::Counts;
use crate::dispatcher::{Worker, draw_limits};
use crate::happening::{Happening, Queue};
use crate::invariants::{self, Broken, Checked};
use crate::kafka::Kafka;
use crate::ledger::Ledger;
use crate::outbox::{OutboxDatabase, UpstreamStep};
use crate::random::Random;
use crate::relay::{Producer, ProducerId, Relay};
use crate::settings::{RELAYS, Settings, WORKERS};
use crate::times::{FAULTS_END, PATIENCE_END, SECOND, UPSTREAM_END};
use crate::trace::{Trace, Tracing};

/// Everything, at one moment.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) now: u64,
    pub(crate) random: Random,
    pub(crate) settings: Settings,
    pub(crate) limits: Limits,
    pub(crate) ledger: Ledger,

    /// Upstream's transactions: still to begin, and open.
    pub(crate) upstream_left: usize,
    pub(crate) open: BTreeSet<u64>,
    pub(crate) outbox: OutboxDatabase,
    pub(crate) relays: Vec<Relay>,
    pub(crate) producers: BTreeMap<ProducerId, Producer>,
    pub(crate) kafka: Kafka,
    pub(crate) workers: Vec<Worker>,
    pub(crate) claims: Claims,
    /// Calls that were decided and not answered, with the record that each is for.
    pub(crate) calling: BTreeMap<usize, SlotId>,

    pub(crate) last_attempt: u64,
    pub(crate) last_life: u64,
    pub(crate) last_slot: u64,
    pub(crate) last_statement: u64,

    pub(crate) counts: Counts,
    pub(crate) trace: Trace,
    queue: Queue,
    broken: Option<Broken>,
}

impl World {
    pub(crate) fn new(seed: u64, tracing: Tracing) -> Self {
        let mut random = Random::new(seed);
        let settings = Settings::draw(&mut random);
        let limits = draw_limits(&mut random);
        let mut world = Self {
            now: 0,
            limits,
            ledger: Ledger::default(),
            upstream_left: settings.transactions,
            open: BTreeSet::new(),
            outbox: OutboxDatabase::new(),
            relays: (0..RELAYS).map(|_| Relay::default()).collect(),
            producers: BTreeMap::new(),
            kafka: Kafka::new(settings.partitions),
            workers: (0..WORKERS).map(|_| Worker::new(limits)).collect(),
            claims: Claims::default(),
            calling: BTreeMap::new(),
            last_attempt: 0,
            last_life: 0,
            last_slot: 0,
            last_statement: 0,
            counts: Counts::default(),
            trace: Trace::new(tracing),
            queue: Queue::default(),
            broken: None,
            settings,
            random,
        };
        world.begin_everything();
        world
    }

    fn begin_everything(&mut self) {
        for relay in 0..RELAYS {
            self.after(0, SECOND, Happening::RelayStarts { relay });
        }
        for worker in 0..WORKERS {
            self.after(0, SECOND, Happening::WorkerStarts { worker });
        }
        self.after(0, SECOND, Happening::Upstream(UpstreamStep::Begin));
        self.after(SECOND, 2 * SECOND, Happening::Fault);
        self.after(SECOND, 5 * SECOND, Happening::Operator);
        for _ in 0..self.random.below(3) {
            self.after(0, UPSTREAM_END, Happening::Poison);
        }
    }

    /// Runs until the world is at rest, or an invariant is broken.
    pub(crate) fn run(&mut self) -> Checked {
        while let Some((at, happening)) = self.queue.pop() {
            self.now = at;
            self.happen(happening);
            if let Some(broken) = self.broken.take() {
                return Err(broken);
            }
            let quiet = at > FAULTS_END && self.is_at_rest();
            if quiet || at > PATIENCE_END {
                break;
            }
        }
        invariants::every_committed_row_reaches_its_end(self)?;
        invariants::nothing_stays_deferred(self)?;
        invariants::the_world_comes_to_rest(self)?;
        invariants::what_ends_in_order_repeats_nothing(self)
    }

    /// Whether upstream is done, nothing waits in the outbox or in Kafka, and no machine holds anything.
    pub(crate) fn is_at_rest(&self) -> bool {
        let upstream_is_done = self.upstream_left == 0 && self.open.is_empty();
        let idle = |worker| self.is_idle(worker);
        upstream_is_done
            && self.outbox.rows.is_empty()
            && self.kafka.is_consumed()
            && self.claims.deferrals.rows.is_empty()
            && self.claims.deferrals.markers.is_empty()
            && (0..WORKERS).all(idle)
    }

    /// Whether faults may still begin.
    pub(crate) fn faults(&self) -> bool {
        self.now < FAULTS_END && !self.settings.calm
    }

    pub(crate) fn at(&mut self, at: u64, happening: Happening) {
        self.queue.push(at, happening);
    }

    pub(crate) fn after(&mut self, least: u64, most: u64, happening: Happening) {
        let at = self.now + self.random.between(least, most);
        self.queue.push(at, happening);
    }

    /// Keeps the first invariant that is found broken.
    pub(crate) fn check(&mut self, checked: Checked) {
        if let Err(broken) = checked {
            self.broken.get_or_insert(broken);
        }
    }

    /// A message in the words of the story.
    pub(crate) fn name(&self, message: usize) -> String {
        let known = &self.ledger.messages[message];
        let lane = if known.lane == 0 { "high" } else { "normal" };
        let policy = if known.park { "park" } else { "resend" };
        let chat = known.chat;
        format!("message {message} (chat {chat}, {lane}, {policy})")
    }
}
