use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tidings_delivery::{
    Answer, Arrival, ClaimOutcome, Content, Delivery, Effect, Event, Limits, Machine, Moment, Now,
    OnUnknown, Options, PartitionId, Poison, RetryName, RetryProfiles, Settlement, SlotId, Timing,
};

use crate::check::{Counts, Post};
use crate::platform::react;
use crate::postgres::{Claim, Postgres, State};

pub const CALL_DEADLINE: Duration = Duration::from_secs(2);
const LEASE: Duration = Duration::from_secs(5);
const MARGIN: Duration = Duration::from_millis(500);
const SESSION_TIMEOUT_MICROS: u64 = 6_000_000;
const DRAIN_DEADLINE_MICROS: u64 = 1_000_000;
const FAULTS_END_MICROS: u64 = 60_000_000;
const END_MICROS: u64 = 4_000_000_000;

/// A record of a partition's log: a message (maybe for the second time), or poison.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Record {
    Message(usize),
    Poison,
}

pub struct Message {
    pub chat: usize,
    pub park: bool,
    expires_at_micros: Option<i64>,
}

struct Worker {
    machine: Machine,
    incarnation: u64,
    frozen_until: u64,
    /// Moment zero of this incarnation, so that workers' moments differ.
    began_at: u64,
    slots: HashMap<SlotId, (PartitionId, usize)>,
    next_offset: BTreeMap<PartitionId, usize>,
    paused: BTreeMap<PartitionId, bool>,
    tick_at: Option<u64>,
}

enum Happening {
    ToWorker {
        worker: usize,
        incarnation: u64,
        event: Event,
    },
    Tick {
        worker: usize,
        incarnation: u64,
    },
    Fetch {
        worker: usize,
        incarnation: u64,
    },
    Statement {
        worker: usize,
        incarnation: u64,
        statement: Statement,
        answered: bool,
    },
    Arrives {
        worker: usize,
        incarnation: u64,
        slot: SlotId,
        message: usize,
    },
    DrainDeadline {
        worker: usize,
        incarnation: u64,
        partition: PartitionId,
    },
    Reassign {
        partition: PartitionId,
    },
    Chaos,
}

enum Statement {
    Claim {
        slot: SlotId,
        asked_at: Moment,
        claim: Claim,
    },
    Start {
        slot: SlotId,
        message: usize,
        fence: i64,
    },
    Settle {
        slot: SlotId,
        message: usize,
        fence: i64,
        end: Settlement,
    },
    Release {
        message: usize,
        fence: i64,
    },
}

pub struct World {
    random: StdRng,
    now: u64,
    order: u64,
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    happenings: HashMap<u64, Happening>,
    workers: Vec<Worker>,
    next_slot: u64,
    pub logs: BTreeMap<PartitionId, Vec<Record>>,
    pub messages: Vec<Message>,
    owners: BTreeMap<PartitionId, Option<usize>>,
    moving_to: BTreeMap<PartitionId, usize>,
    pub committed: BTreeMap<PartitionId, usize>,
    pub postgres: Postgres,
    pub posts: Vec<Post>,
    pub dead_letters: HashMap<(PartitionId, usize), u32>,
    pub ambiguous: HashMap<usize, u32>,
    pub counts: Counts,
    problem: Option<String>,
}

impl World {
    pub fn new(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let (messages, logs) = logs(&mut random);
        let mut world = Self {
            now: 0,
            order: 0,
            queue: BinaryHeap::new(),
            happenings: HashMap::new(),
            workers: Vec::new(),
            next_slot: 0,
            owners: logs.keys().map(|id| (*id, None)).collect(),
            moving_to: BTreeMap::new(),
            committed: logs.keys().map(|id| (*id, 0)).collect(),
            logs,
            messages,
            postgres: Postgres::default(),
            posts: Vec::new(),
            dead_letters: HashMap::new(),
            ambiguous: HashMap::new(),
            counts: Counts::default(),
            problem: None,
            random,
        };
        for index in 0..3 {
            let worker = world.fresh_worker(index);
            world.workers.push(worker);
        }
        for partition in world.logs.keys().copied().collect::<Vec<_>>() {
            world.at(0, Happening::Reassign { partition });
        }
        world.at(1_000_000, Happening::Chaos);
        world
    }

    pub fn run(&mut self) -> Result<(), String> {
        while let Some(Reverse((at, key))) = self.queue.pop() {
            self.now = at;
            if at > END_MICROS {
                return Err("not quiet after an hour of virtual time".into());
            }
            let happening = self.happenings.remove(&key).unwrap();
            self.happen(happening);
            if let Some(problem) = self.problem.take() {
                return Err(format!("at {} ms: {problem}", self.now / 1_000));
            }
            if self.now > FAULTS_END_MICROS && self.quiet() {
                break;
            }
        }
        self.check_end()
    }

    fn faults(&self) -> bool {
        self.now < FAULTS_END_MICROS
    }

    fn quiet(&self) -> bool {
        self.committed
            .iter()
            .all(|(id, offset)| *offset == self.logs[id].len())
    }

    fn fresh_worker(&mut self, index: usize) -> Worker {
        let incarnation = self.counts.incarnations;
        self.counts.incarnations += 1;
        let options = Options {
            limits: Limits {
                records: self.random.random_range(2..60),
                bytes: 1_000_000,
                records_per_chat: self.random.random_range(2..20),
                calls: self.random.random_range(1..8),
                calls_per_account: self.random.random_range(1..5),
            },
            timing: Timing {
                call_deadline: CALL_DEADLINE,
                lease: LEASE,
                lease_margin: MARGIN,
                storage_retry: Duration::from_millis(200),
            },
            retries: RetryProfiles {
                broken_account: Duration::from_secs(2),
                ..RetryProfiles::default()
            },
            seed: incarnation * 31 + index as u64,
        };
        Worker {
            machine: Machine::new(options),
            incarnation,
            frozen_until: 0,
            began_at: self.now,
            slots: HashMap::new(),
            next_offset: BTreeMap::new(),
            paused: BTreeMap::new(),
            tick_at: None,
        }
    }

    fn at(&mut self, at: u64, happening: Happening) {
        self.order += 1;
        self.happenings.insert(self.order, happening);
        self.queue.push(Reverse((at, self.order)));
    }

    fn after(&mut self, least: u64, most: u64, happening: Happening) {
        let at = self.now + self.random.random_range(least..=most);
        self.at(at, happening);
    }

    fn lives(&self, worker: usize, incarnation: u64) -> bool {
        self.workers[worker].incarnation == incarnation
    }

    /// A frozen worker sees nothing until it thaws.
    fn postponed(&mut self, worker: usize, happening: Happening) -> Option<Happening> {
        let until = self.workers[worker].frozen_until;
        if until > self.now {
            self.at(until, happening);
            return None;
        }
        Some(happening)
    }

    fn happen(&mut self, happening: Happening) {
        let (worker, incarnation) = match &happening {
            Happening::ToWorker {
                worker,
                incarnation,
                ..
            }
            | Happening::Tick {
                worker,
                incarnation,
            }
            | Happening::Fetch {
                worker,
                incarnation,
            }
            | Happening::DrainDeadline {
                worker,
                incarnation,
                ..
            } => (*worker, *incarnation),
            // These happen outside the worker, whether it lives or not.
            Happening::Statement { .. }
            | Happening::Arrives { .. }
            | Happening::Reassign { .. }
            | Happening::Chaos => return self.happen_outside(happening),
        };
        if !self.lives(worker, incarnation) {
            return;
        }
        let Some(happening) = self.postponed(worker, happening) else {
            return;
        };
        match happening {
            Happening::ToWorker { event, .. } => self.tell(worker, event),
            Happening::Tick { .. } => {
                self.workers[worker].tick_at = None;
                self.tell(worker, Event::Tick);
            }
            Happening::Fetch { .. } => self.fetch(worker),
            Happening::DrainDeadline { partition, .. } => {
                if self.workers[worker].next_offset.contains_key(&partition) {
                    self.tell(worker, Event::Lost(partition));
                    self.left(worker, partition);
                }
            }
            Happening::Statement { .. }
            | Happening::Arrives { .. }
            | Happening::Reassign { .. }
            | Happening::Chaos => {}
        }
    }

    fn happen_outside(&mut self, happening: Happening) {
        match happening {
            Happening::Statement {
                worker,
                incarnation,
                statement,
                answered,
            } => {
                self.execute(worker, incarnation, statement, answered);
            }
            Happening::Arrives {
                worker,
                incarnation,
                slot,
                message,
            } => {
                self.arrives(worker, incarnation, slot, message);
            }
            Happening::Reassign { partition } => self.reassign(partition),
            Happening::Chaos => self.chaos(),
            Happening::ToWorker { .. }
            | Happening::Tick { .. }
            | Happening::Fetch { .. }
            | Happening::DrainDeadline { .. } => {}
        }
    }

    fn moment(&self, worker: usize) -> Moment {
        Moment(self.now - self.workers[worker].began_at)
    }

    fn tell(&mut self, worker: usize, event: Event) {
        let now = Now {
            moment: self.moment(worker),
            wall_micros: self.now as i64,
        };
        let mut effects = Vec::new();
        self.workers[worker]
            .machine
            .handle(event, now, &mut effects);
        for effect in effects {
            self.perform(worker, effect);
        }
        self.arm_tick(worker);
    }

    fn arm_tick(&mut self, worker: usize) {
        let state = &self.workers[worker];
        let Some(next) = state.machine.next_timer() else {
            return;
        };
        let at = (state.began_at + next.0).max(self.now);
        if state.tick_at.is_none_or(|armed| armed > at) {
            let incarnation = state.incarnation;
            self.workers[worker].tick_at = Some(at);
            self.at(
                at,
                Happening::Tick {
                    worker,
                    incarnation,
                },
            );
        }
    }

    fn perform(&mut self, worker: usize, effect: Effect) {
        match effect {
            Effect::Claim {
                slot,
                partition,
                epoch,
                renew,
                attempts,
                first_failed_at_micros,
            } => {
                let claim = Claim {
                    message: self.message_of(worker, slot),
                    partition,
                    epoch,
                    renew,
                    attempts,
                    first_failed_at_micros,
                };
                let asked_at = self.moment(worker);
                self.send(
                    worker,
                    Statement::Claim {
                        slot,
                        asked_at,
                        claim,
                    },
                );
            }
            Effect::Start { slot, fence } => {
                let message = self.message_of(worker, slot);
                self.send(
                    worker,
                    Statement::Start {
                        slot,
                        message,
                        fence,
                    },
                );
            }
            Effect::Settle {
                slot,
                settlement,
                fence,
                ..
            } => {
                let message = self.message_of(worker, slot);
                self.send(
                    worker,
                    Statement::Settle {
                        slot,
                        message,
                        fence,
                        end: settlement,
                    },
                );
            }
            Effect::Release { slot, fence, .. } => {
                let message = self.message_of(worker, slot);
                self.send(worker, Statement::Release { message, fence });
            }
            Effect::Call { slot, fence, .. } => self.call(worker, slot, fence),
            Effect::DeadLetter { slot, .. } => self.dead_letter(worker, slot),
            Effect::Commit { partition, offset } => self.commit(worker, partition, offset),
            Effect::Pause(partition) => {
                self.workers[worker].paused.insert(partition, true);
            }
            Effect::Resume(partition) => {
                self.workers[worker].paused.insert(partition, false);
                self.fetch_soon(worker);
            }
            Effect::Drained(partition) => self.left(worker, partition),
            Effect::FencedPartition(partition) => {
                self.counts.zombies += 1;
                self.workers[worker].next_offset.remove(&partition);
                if self.owners[&partition] == Some(worker) {
                    self.owners.insert(partition, None);
                    self.at(self.now + 1_000, Happening::Reassign { partition });
                }
            }
            Effect::AccountBroken { .. } => self.counts.broken_accounts += 1,
            Effect::Finish { slot, outcome, .. } => {
                self.counts.outcome(outcome);
                self.workers[worker].slots.remove(&slot);
            }
        }
    }

    fn message_of(&self, worker: usize, slot: SlotId) -> usize {
        let (partition, offset) = self.workers[worker].slots[&slot];
        match self.logs[&partition][offset] {
            Record::Message(message) => message,
            Record::Poison => panic!("an effect of a message about poison"),
        }
    }

    fn send(&mut self, worker: usize, statement: Statement) {
        let incarnation = self.workers[worker].incarnation;
        let faults = self.faults();
        let executed = !faults || self.random.random_bool(0.98);
        let answered = !faults || self.random.random_bool(0.98);
        let slow = faults && self.random.random_bool(0.02);
        if executed {
            let most = if slow { 4_000_000 } else { 5_000 };
            self.after(
                500,
                most,
                Happening::Statement {
                    worker,
                    incarnation,
                    statement,
                    answered,
                },
            );
        } else if let Some(event) = failed(&statement) {
            self.after(
                500,
                500_000,
                Happening::ToWorker {
                    worker,
                    incarnation,
                    event,
                },
            );
        }
    }

    fn execute(&mut self, worker: usize, incarnation: u64, statement: Statement, answered: bool) {
        let now = self.now;
        let failure = failed(&statement);
        let event = match statement {
            Statement::Claim {
                slot,
                asked_at,
                claim,
            } => {
                let outcome = self.claim(&claim);
                Some(Event::Claimed {
                    slot,
                    asked_at,
                    outcome,
                })
            }
            Statement::Start {
                slot,
                message,
                fence,
            } => {
                let answer = self.postgres.start(now, message, fence);
                Some(Event::Started { slot, answer })
            }
            Statement::Settle {
                slot,
                message,
                fence,
                end,
            } => {
                let answer = self.postgres.settle(now, message, fence, end);
                Some(Event::Recorded { slot, answer })
            }
            Statement::Release { message, fence } => {
                self.postgres.release(now, message, fence);
                None
            }
        };
        let event = if answered { event } else { failure };
        if let Some(event) = event {
            self.after(
                100,
                3_000,
                Happening::ToWorker {
                    worker,
                    incarnation,
                    event,
                },
            );
        }
    }

    /// A message that is taken from a holder after it was posted may be posted once more.
    fn claim(&mut self, claim: &Claim) -> ClaimOutcome {
        let taken_over = |postgres: &Postgres| {
            postgres
                .claims
                .get(&claim.message)
                .map_or(0, |row| row.taken_over)
        };
        let before = taken_over(&self.postgres);
        let outcome = self.postgres.claim(self.now, LEASE, claim);
        let posted = self.posts.iter().any(|post| post.message == claim.message);
        if posted && taken_over(&self.postgres) > before {
            *self.ambiguous.entry(claim.message).or_default() += 1;
        }
        outcome
    }

    fn call(&mut self, worker: usize, slot: SlotId, fence: i64) {
        let message = self.message_of(worker, slot);
        let row = &self.postgres.claims[&message];
        if row.fence == fence && row.lease_until < self.now + CALL_DEADLINE.as_micros() as u64 {
            self.problem = Some(format!("message {message}: a call outlives its lease"));
        }
        if self.messages[message].park && row.fence == fence && row.state == State::Claimed {
            self.problem = Some(format!(
                "message {message}: a parked type's call before `started`"
            ));
        }
        let incarnation = self.workers[worker].incarnation;
        let most = CALL_DEADLINE.as_micros() as u64 / 2;
        self.after(
            1_000,
            most,
            Happening::Arrives {
                worker,
                incarnation,
                slot,
                message,
            },
        );
    }

    /// The call reaches the platform, also when its worker died meanwhile.
    fn arrives(&mut self, worker: usize, incarnation: u64, slot: SlotId, message: usize) {
        let faults = self.faults();
        let reaction = react(&mut self.random, faults);
        if reaction.accepted {
            self.posts.push(Post {
                message,
                at: self.now,
            });
            if reaction.ambiguous {
                *self.ambiguous.entry(message).or_default() += 1;
            }
        }
        let event = Event::Answered {
            slot,
            verdict: reaction.verdict,
            reason: "sim".into(),
        };
        let most = if reaction.ambiguous {
            1_000_000
        } else {
            50_000
        };
        self.after(
            1_000,
            most,
            Happening::ToWorker {
                worker,
                incarnation,
                event,
            },
        );
    }

    fn dead_letter(&mut self, worker: usize, slot: SlotId) {
        let acknowledged = !self.faults() || self.random.random_bool(0.9);
        if acknowledged {
            let place = self.workers[worker].slots[&slot];
            *self.dead_letters.entry(place).or_default() += 1;
        }
        let incarnation = self.workers[worker].incarnation;
        let event = Event::DeadLettered { slot, acknowledged };
        self.after(
            500,
            20_000,
            Happening::ToWorker {
                worker,
                incarnation,
                event,
            },
        );
    }

    fn commit(&mut self, worker: usize, partition: PartitionId, offset: i64) {
        let offset = offset as usize;
        self.problem = self
            .problem
            .take()
            .or_else(|| self.unsettled_before(partition, offset));
        // Kafka refuses commits of members that lost the partition.
        if self.owners[&partition] == Some(worker) {
            let committed = self.committed.get_mut(&partition).unwrap();
            *committed = (*committed).max(offset);
        }
    }

    fn fetch_soon(&mut self, worker: usize) {
        let incarnation = self.workers[worker].incarnation;
        self.after(
            100,
            5_000,
            Happening::Fetch {
                worker,
                incarnation,
            },
        );
    }

    fn fetch(&mut self, worker: usize) {
        let ready: Vec<(PartitionId, usize)> = self.workers[worker]
            .next_offset
            .iter()
            .filter(|(id, next)| {
                !self.workers[worker]
                    .paused
                    .get(id)
                    .copied()
                    .unwrap_or(false)
                    && **next < self.logs[id].len()
            })
            .map(|(id, next)| (*id, *next))
            .collect();
        for (partition, offset) in &ready {
            self.workers[worker]
                .next_offset
                .insert(*partition, offset + 1);
            self.deliver(worker, *partition, *offset);
        }
        if !ready.is_empty() {
            self.fetch_soon(worker);
        }
    }

    fn deliver(&mut self, worker: usize, partition: PartitionId, offset: usize) {
        self.next_slot += 1;
        let slot = SlotId(self.next_slot);
        self.workers[worker].slots.insert(slot, (partition, offset));
        let content = self.content(partition, offset);
        let waits = self.faults() && self.random.random_bool(0.02);
        let arrival = Arrival {
            slot,
            partition,
            offset: offset as i64,
            bytes: 100,
            content: if waits {
                Content::Waiting
            } else {
                content.clone()
            },
        };
        self.tell(worker, Event::Arrived(arrival));
        // The edge keeps a chat's records in order while a schema is fetched: nothing of the partition comes meanwhile.
        if waits {
            self.tell(worker, Event::Resolved { slot, content });
        }
    }

    fn content(&self, partition: PartitionId, offset: usize) -> Content {
        let Record::Message(index) = self.logs[&partition][offset] else {
            return Content::Poison(Poison {
                reason: "sim".into(),
            });
        };
        let message = &self.messages[index];
        Content::Message(Delivery {
            chat: Arc::from(format!("sim:a{}:{}", message.chat % 2, message.chat)),
            account: Arc::from(format!("sim:a{}", message.chat % 2)),
            expires_at_micros: message.expires_at_micros,
            on_unknown: if message.park {
                OnUnknown::Park
            } else {
                OnUnknown::Resend
            },
            retry: RetryName::Interactive,
        })
    }

    fn reassign(&mut self, partition: PartitionId) {
        if self.owners[&partition].is_some() {
            return;
        }
        let worker = match self.moving_to.remove(&partition) {
            Some(worker) => worker,
            None => self.random.random_range(0..self.workers.len()),
        };
        self.owners.insert(partition, Some(worker));
        let epoch = self.postgres.bump(partition);
        let committed = self.committed[&partition];
        let state = &mut self.workers[worker];
        state.next_offset.insert(partition, committed);
        state.paused.insert(partition, false);
        self.tell(worker, Event::Assigned { partition, epoch });
        self.fetch_soon(worker);
    }

    fn left(&mut self, worker: usize, partition: PartitionId) {
        self.workers[worker].next_offset.remove(&partition);
        if self.owners[&partition] == Some(worker) {
            self.owners.insert(partition, None);
            self.at(self.now + 1_000, Happening::Reassign { partition });
        }
    }

    fn chaos(&mut self) {
        if !self.faults() {
            return;
        }
        let worker = self.random.random_range(0..self.workers.len());
        match self.random.random_range(0..4) {
            0 => self.crash(worker),
            1 => self.freeze(worker),
            2 | 3 => self.hand_partition_over(),
            _ => unreachable!(),
        }
        self.after(200_000, 6_000_000, Happening::Chaos);
    }

    fn crash(&mut self, worker: usize) {
        self.counts.crashes += 1;
        let fresh = self.fresh_worker(worker);
        self.workers[worker] = fresh;
        self.orphan_partitions(worker);
    }

    fn freeze(&mut self, worker: usize) {
        self.counts.freezes += 1;
        let long = self.random.random_range(1_000_000..20_000_000);
        self.workers[worker].frozen_until = self.now + long;
        if long > SESSION_TIMEOUT_MICROS {
            self.orphan_partitions(worker);
        }
    }

    fn orphan_partitions(&mut self, worker: usize) {
        for partition in self.owned_by(worker) {
            self.owners.insert(partition, None);
            self.at(
                self.now + SESSION_TIMEOUT_MICROS,
                Happening::Reassign { partition },
            );
        }
    }

    fn owned_by(&self, worker: usize) -> Vec<PartitionId> {
        self.owners
            .iter()
            .filter(|(_, owner)| **owner == Some(worker))
            .map(|(id, _)| *id)
            .collect()
    }

    fn hand_partition_over(&mut self) {
        let index = self.random.random_range(0..self.logs.len());
        let partition = *self.logs.keys().nth(index).unwrap();
        let Some(worker) = self.owners[&partition] else {
            return;
        };
        if self.workers[worker].frozen_until > self.now {
            return;
        }
        self.counts.rebalances += 1;
        let target = self.random.random_range(0..self.workers.len());
        self.moving_to.insert(partition, target);
        let incarnation = self.workers[worker].incarnation;
        self.at(
            self.now + DRAIN_DEADLINE_MICROS,
            Happening::DrainDeadline {
                worker,
                incarnation,
                partition,
            },
        );
        self.tell(worker, Event::Revoked(partition));
    }
}

fn failed(statement: &Statement) -> Option<Event> {
    match statement {
        Statement::Claim { slot, asked_at, .. } => Some(Event::Claimed {
            slot: *slot,
            asked_at: *asked_at,
            outcome: ClaimOutcome::Failed,
        }),
        Statement::Start { slot, .. } => Some(Event::Started {
            slot: *slot,
            answer: Answer::Failed,
        }),
        Statement::Settle { slot, .. } => Some(Event::Recorded {
            slot: *slot,
            answer: Answer::Failed,
        }),
        Statement::Release { .. } => None,
    }
}

fn logs(random: &mut StdRng) -> (Vec<Message>, BTreeMap<PartitionId, Vec<Record>>) {
    let chats = random.random_range(1..10);
    let messages: Vec<Message> = (0..random.random_range(10..120))
        .map(|_| Message {
            chat: random.random_range(0..chats),
            park: random.random_bool(0.3),
            expires_at_micros: random
                .random_bool(0.05)
                .then(|| random.random_range(0..30_000_000)),
        })
        .collect();
    let mut logs: BTreeMap<PartitionId, Vec<Record>> = (0..3)
        .map(|partition| (PartitionId { lane: 0, partition }, Vec::new()))
        .collect();
    for (index, message) in messages.iter().enumerate() {
        let partition = PartitionId {
            lane: 0,
            partition: (message.chat % 3) as i32,
        };
        let log = logs.get_mut(&partition).unwrap();
        log.push(Record::Message(index));
        if random.random_bool(0.05) {
            log.push(Record::Poison);
        }
        if random.random_bool(0.1) {
            let again = log[random.random_range(0..log.len())];
            log.push(again);
        }
    }
    (messages, logs)
}
