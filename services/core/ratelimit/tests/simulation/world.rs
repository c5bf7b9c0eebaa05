//! One world: what happens next, until the end.

use std::collections::{BTreeMap, BTreeSet};

use tidings_ratelimit::{
    AppendId, Class, Effect, Event, Mode, Moment, Operation, PermitId, ScopeLimits, Start, Target,
    What,
};

use uuid::Uuid;

use crate::chaos::Chaos;
use crate::log::Log;
use crate::platform::{Call, Platform};
use crate::random::Random;
use crate::settings::{Delays, MILLI, SECOND, Settings};
use crate::worker::{Message, Worker};

/// From a start to the platform: the same for all, but for the jitter.
const WAY: u64 = 15 * MILLI;
/// With the slack of a start it stays within slack and margin.
const JITTER: u64 = 3 * MILLI;
const DEMAND_EVERY: u64 = 40 * MILLI;

pub(crate) enum Happening {
    Append {
        worker: usize,
        epoch: u64,
        value: Vec<u8>,
    },
    NotAppended {
        worker: usize,
        id: AppendId,
    },
    Deliver {
        worker: usize,
        generation: u64,
    },
    Opened {
        worker: usize,
    },
    Timer {
        worker: usize,
        at: u64,
    },
    Start {
        worker: usize,
        permit: PermitId,
        lateness: u64,
    },
    Arrive(Call),
    Answer {
        call: Call,
        answer: Result<(), (Target, u64)>,
    },
    Demand,
    Chaos(Chaos),
}

/// What a run came to.
#[derive(Debug, Default, Clone)]
pub(crate) struct Report {
    pub(crate) accepted: u64,
    pub(crate) arrivals: u64,
    pub(crate) records: u64,
    pub(crate) started: BTreeMap<usize, u64>,
    pub(crate) high_waits: Vec<u64>,
    /// What happened, by name.
    pub(crate) counts: BTreeMap<&'static str, u64>,
}

pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) settings: Settings,
    pub(crate) random: Random,
    pub(crate) now: u64,
    queue: BTreeMap<(u64, u64), Happening>,
    next: u64,
    pub(crate) log: Log,
    pub(crate) workers: Vec<Worker>,
    pub(crate) platform: Platform,
    pub(crate) report: Report,
    pub(crate) measure_from: u64,
    /// When the log last granted something to each class.
    pub(crate) last_granted: [u64; 4],
    /// How often a log was begun, and which asks were served since.
    begun: u64,
    served: BTreeSet<(u64, Uuid, u64)>,
    /// The log demands the second version.
    pub(crate) second_version: bool,
    trace: bool,
}

pub(crate) type Outcome = Result<(), String>;

impl World {
    pub(crate) fn new(seed: u64, settings: Settings) -> Self {
        let mut platform = Platform::default();
        for (name, limits) in &settings.scopes {
            platform.add_scope(name, limits);
        }
        Self {
            seed,
            random: Random::new(seed),
            now: 10 * SECOND,
            queue: BTreeMap::new(),
            next: 0,
            log: Log::new(settings.first_offset),
            workers: Vec::new(),
            platform,
            report: Report::default(),
            measure_from: 0,
            last_granted: [0; 4],
            begun: 0,
            served: BTreeSet::new(),
            second_version: false,
            trace: std::env::var_os("TIDINGS_SIM_TRACE").is_some(),
            settings,
        }
    }

    pub(crate) fn run(&mut self) -> Outcome {
        let begin = self.now;
        for slot in 0..self.settings.workers {
            self.begin_worker(slot);
        }
        self.after(0, Happening::Demand);
        if self.settings.chaos {
            self.plan_chaos();
        }
        let end = begin + self.settings.end;
        let mut at_once = 0;
        while let Some(((at, _), happening)) = self.queue.pop_first() {
            if at > end {
                break;
            }
            at_once = if at == self.now { at_once + 1 } else { 0 };
            if at_once > 10_000 {
                return Err("nobody_spins: time stands still".to_owned());
            }
            self.now = at;
            self.happen(happening)?;
        }
        self.check_end()
    }

    pub(crate) fn after(&mut self, delay: u64, happening: Happening) {
        self.at(self.now + delay, happening);
    }

    pub(crate) fn at(&mut self, at: u64, happening: Happening) {
        self.next += 1;
        self.queue.insert((at.max(self.now), self.next), happening);
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        *self.report.counts.entry(what).or_default() += 1;
    }

    pub(crate) fn say(&self, text: impl FnOnce() -> String) {
        if self.trace {
            println!("{:>12} {}", self.now, text());
        }
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.now >= 10 * SECOND + self.settings.calm_from
    }

    fn happen(&mut self, happening: Happening) -> Outcome {
        match happening {
            Happening::Append {
                worker,
                epoch,
                value,
            } => self.append(worker, epoch, value),
            Happening::NotAppended { worker, id } => self.tell(worker, Event::NotAppended(id)),
            Happening::Deliver { worker, generation } => self.deliver(worker, generation),
            Happening::Opened { worker } => self.open(worker),
            Happening::Timer { worker, at } => self.timer(worker, at),
            Happening::Start {
                worker,
                permit,
                lateness,
            } => self.start(worker, permit, lateness),
            Happening::Arrive(call) => self.arrive(call),
            Happening::Answer { call, answer } => self.answer(call, answer),
            Happening::Demand => self.demand(),
            Happening::Chaos(chaos) => self.inflict(chaos),
        }
    }

    pub(crate) fn begin_worker(&mut self, slot: usize) {
        let number = self.workers.len();
        let worker = Worker::new(number, slot, self.seed, &self.settings, self.now);
        self.workers.push(worker);
        let delay = self.delay();
        self.after(delay, Happening::Opened { worker: number });
    }

    /// How long a record is on its way, one way.
    pub(crate) fn delay(&mut self) -> u64 {
        match self.settings.delays {
            Delays::Quiet => self.random.between(300, 3_000),
            Delays::Slow => self.random.between(1_000, 25_000),
            Delays::Stalls if !self.is_calm() && self.random.chance(10) => {
                self.count("stall");
                self.random.between(20_000, 2_000_000)
            }
            Delays::Stalls => self.random.between(1_000, 25_000),
        }
    }

    fn open(&mut self, number: usize) -> Outcome {
        let (first, end, epoch) = (self.log.first, self.log.end(), self.log.epoch);
        let Some(worker) = self.workers.get_mut(number).filter(|worker| worker.alive) else {
            return Ok(());
        };
        worker.epoch = epoch;
        let scopes = self.settings.scopes.clone();
        self.tell(number, Event::Opened { first, end })?;
        for (scope, limits) in scopes {
            self.tell(number, Event::Scope { scope, limits })?;
        }
        Ok(())
    }

    /// Gives a worker an event, and does what it says.
    pub(crate) fn tell(&mut self, number: usize, event: Event) -> Outcome {
        let worker = &mut self.workers[number];
        if !worker.alive {
            return Ok(());
        }
        let now = worker.moment(self.now);
        let mut effects = Vec::new();
        worker.limiter.handle(event, now, &mut effects);
        self.perform(number, effects)
    }

    fn perform(&mut self, number: usize, effects: Vec<Effect>) -> Outcome {
        for effect in effects {
            self.say(|| format!("{number} {}", brief(&effect)));
            match effect {
                Effect::Append { id, value, .. } => self.send(number, id, value),
                Effect::Read { from } => self.read(number, from),
                Effect::Reopen => {
                    self.count("reopen");
                    self.workers[number].reading = false;
                    let delay = self.delay();
                    self.after(delay + 10 * MILLI, Happening::Opened { worker: number });
                }
                Effect::Mode(mode) => self.mode(number, &mode)?,
                Effect::Granted { permit, validity } => self.granted(number, permit, validity.from),
                Effect::Voided { .. } => self.count("voided"),
                Effect::Declined(_) => return Err("declined: below the bound".to_owned()),
                Effect::Waiting { .. } | Effect::KeepPenalty { .. } | Effect::ForgetPenalty(_) => {}
            }
        }
        self.schedule_timer(number);
        Ok(())
    }

    fn mode(&mut self, number: usize, mode: &Mode) -> Outcome {
        if let Mode::Closed(why) = mode {
            self.say(|| format!("{number} closed: {why}"));
            self.count("closed");
        }
        if let Mode::Stopped(_) = mode {
            if self.workers[number].machine_version >= 2 {
                return Err("stopped: a worker that has the version".to_owned());
            }
            self.count("stopped");
        }
        Ok(())
    }

    fn send(&mut self, number: usize, id: AppendId, value: Vec<u8>) {
        let epoch = self.log.epoch;
        if !self.is_calm() && self.random.chance(self.settings.lost_permille) {
            self.count("lost");
            self.after(300 * MILLI, Happening::NotAppended { worker: number, id });
            return;
        }
        let delay = self.delay();
        let at = (self.now + delay).max(self.workers[number].last_append);
        self.workers[number].last_append = at;
        if !self.is_calm() && self.random.chance(self.settings.doubled_permille) {
            self.count("doubled");
            let again = at + self.random.between(0, 2 * SECOND);
            let value = value.clone();
            self.at(
                again,
                Happening::Append {
                    worker: number,
                    epoch,
                    value,
                },
            );
        }
        self.at(
            at,
            Happening::Append {
                worker: number,
                epoch,
                value,
            },
        );
    }

    /// A record reaches the broker, whoever is still alive.
    pub(crate) fn append(&mut self, writer: usize, _epoch: u64, value: Vec<u8>) -> Outcome {
        self.report.records += 1;
        let (offset, applied) = self.log.append(value, self.now);
        self.say(|| format!("log {offset} by {writer} {}", brief_what(&applied.what)));
        if let What::Penalised { held, .. } = &applied.what {
            let log_id = self.log.reference.log_id();
            for (target, _) in held {
                for penalty in &mut self.platform.penalties {
                    if penalty.target == *target {
                        penalty.recorded.push((log_id, offset));
                    }
                }
            }
        }
        if let What::Served {
            incarnation,
            seq,
            class,
            asks,
        } = &applied.what
        {
            let ask = (self.begun, *incarnation, *seq);
            if !self.served.insert(ask) {
                return Err(format!(
                    "what_is_repeated_gets_nothing: {incarnation} {seq}"
                ));
            }
            let granted = asks
                .iter()
                .flat_map(|ask| &ask.entries)
                .any(|entry| !entry.granted.is_empty());
            if granted {
                self.last_granted[class_index(*class)] = self.now;
            }
        }
        if let What::Reset(reset) = &applied.what {
            // Whoever resets takes the consequences, also when a newer penalty came first.
            self.platform.forgive(reset.target.name());
        }
        if matches!(applied.what, What::Snapshot(_)) {
            self.count("snapshot");
        }
        self.follow_limits(&applied.what);
        for number in 0..self.workers.len() {
            self.schedule_delivery(number);
        }
        Ok(())
    }

    /// The platform's limits are those in force, a little later when they are stricter.
    fn follow_limits(&mut self, what: &What) {
        let later = self.now + SECOND;
        match what {
            What::Begun => {
                self.count("begun");
                self.begun += 1;
                for (name, limits) in &self.settings.scopes {
                    self.platform.change(name, ScopeLimits::default(), self.now);
                    self.platform.change(name, limits.clone(), later);
                }
            }
            What::Limits(limits) => {
                if let Some((scope, limits)) = &limits.scope {
                    self.platform
                        .change(scope, ScopeLimits::default(), self.now);
                    self.platform.change(scope, limits.clone(), later);
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, number: usize, from: i64) {
        let epoch = self.log.epoch;
        let worker = &mut self.workers[number];
        worker.position = from;
        worker.reading = worker.epoch == epoch;
        worker.generation += 1;
        worker.delivery = None;
        self.schedule_delivery(number);
    }

    fn schedule_delivery(&mut self, number: usize) {
        let worker = &self.workers[number];
        if !worker.alive || !worker.reading || worker.delivery.is_some() {
            return;
        }
        let generation = worker.generation;
        let at = self.now + self.delay();
        self.workers[number].delivery = Some(at);
        self.at(
            at,
            Happening::Deliver {
                worker: number,
                generation,
            },
        );
    }

    fn deliver(&mut self, number: usize, generation: u64) -> Outcome {
        let worker = &mut self.workers[number];
        if !worker.alive || worker.generation != generation || !worker.reading {
            return Ok(());
        }
        if worker.frozen_until > self.now {
            let at = worker.frozen_until;
            self.at(
                at,
                Happening::Deliver {
                    worker: number,
                    generation,
                },
            );
            return Ok(());
        }
        worker.delivery = None;
        if worker.position < self.log.first {
            worker.position = self.log.first;
        }
        while let Some(stored) = self.log.get(self.workers[number].position).cloned() {
            let offset = self.workers[number].position;
            self.workers[number].position += 1;
            let event = Event::Record {
                offset,
                append_time_millis: stored.append_time_millis,
                value: stored.value,
            };
            self.tell(number, event)?;
            self.compare(number)?;
            if self.workers[number].generation != generation || !self.workers[number].reading {
                return Ok(());
            }
        }
        self.note_told(number);
        let end = self.log.end();
        self.tell(number, Event::ReachedEnd { end })
    }

    /// Replicas agree, byte for byte.
    fn compare(&mut self, number: usize) -> Outcome {
        let machine = self.workers[number].limiter.machine();
        let serves = matches!(
            self.workers[number].limiter.mode(),
            Mode::Live | Mode::Replaying
        );
        if !serves || machine.log_id() != self.log.reference.log_id() {
            return Ok(());
        }
        match self.log.hash_at(machine.offset()) {
            Some(hash) if hash != machine.hash() => Err(format!(
                "replicas_agree: {number} differs at {}",
                machine.offset()
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// Penalties whose records a worker has read.
    fn note_told(&mut self, number: usize) {
        let machine = self.workers[number].limiter.machine();
        let (log_id, offset) = (machine.log_id(), machine.offset());
        if !matches!(
            self.workers[number].limiter.mode(),
            Mode::Live | Mode::Replaying
        ) {
            return;
        }
        for penalty in &mut self.platform.penalties {
            let read = penalty
                .recorded
                .iter()
                .any(|(log, at)| *log == log_id && *at <= offset);
            if read {
                penalty.told.entry(number).or_insert(self.now);
            }
        }
    }

    fn schedule_timer(&mut self, number: usize) {
        let worker = &mut self.workers[number];
        let Some(at) = worker.limiter.next_timer().filter(|_| worker.alive) else {
            return;
        };
        let at = worker
            .real(at.max(Moment(0)))
            .max(self.now)
            .max(worker.frozen_until);
        if worker.timer.is_none_or(|timer| timer > at) {
            worker.timer = Some(at);
            self.at(at, Happening::Timer { worker: number, at });
        }
    }

    fn timer(&mut self, number: usize, at: u64) -> Outcome {
        let worker = &mut self.workers[number];
        if !worker.alive || worker.timer != Some(at) {
            return Ok(());
        }
        worker.timer = None;
        self.say(|| format!("{number} timer"));
        let worker = &mut self.workers[number];
        if worker.frozen_until > self.now {
            self.schedule_timer(number);
            return Ok(());
        }
        self.tell(number, Event::Timer)
    }

    /// The caller sleeps until the grant begins, and wakes a little late.
    fn granted(&mut self, number: usize, permit: PermitId, from: Moment) {
        self.count("granted");
        let lateness = match self.random.between(0, 99) {
            0..=79 => self.random.between(0, 1_500),
            _ if !self.settings.chaos => self.random.between(0, 8_000),
            80..=97 => self.random.between(0, 20_000),
            _ => self.random.between(0, 40_000),
        };
        let at = self.workers[number].real(from) + lateness;
        self.at(
            at,
            Happening::Start {
                worker: number,
                permit,
                lateness,
            },
        );
    }

    fn start(&mut self, number: usize, permit: PermitId, lateness: u64) -> Outcome {
        let worker = &mut self.workers[number];
        if !worker.alive {
            return Ok(());
        }
        if worker.frozen_until > self.now {
            let at = worker.frozen_until;
            self.at(
                at,
                Happening::Start {
                    worker: number,
                    permit,
                    lateness,
                },
            );
            return Ok(());
        }
        let mut effects = Vec::new();
        let now = worker.moment(self.now);
        let start = worker.limiter.start(permit, now, &mut effects);
        self.perform(number, effects)?;
        match start {
            Start::Go => self.call(number, permit),
            Start::Early => {
                self.after(
                    MILLI,
                    Happening::Start {
                        worker: number,
                        permit,
                        lateness,
                    },
                );
                Ok(())
            }
            Start::Void(_) => {
                self.count("void");
                Ok(())
            }
            Start::Unknown => Ok(()),
        }
    }

    fn call(&mut self, number: usize, permit: PermitId) -> Outcome {
        let now = self.now;
        let worker = &mut self.workers[number];
        let Some(message) = worker.messages.remove(&permit) else {
            return Err("started twice".to_owned());
        };
        let class = class_index(message.class);
        worker.started[class] += 1;
        worker.last_started[class] = now;
        if message.class == Class::High {
            self.report.high_waits.push(now - message.since);
        }
        self.check_start(number)?;
        let call = Call {
            worker: number,
            scope: self.settings.scopes[message.scope].0.clone(),
            chat: message.chat,
            started: now,
        };
        let way = WAY + self.random.between(0, JITTER);
        self.after(way, Happening::Arrive(call));
        Ok(())
    }

    fn check_start(&self, number: usize) -> Outcome {
        let worker = &self.workers[number];
        if matches!(worker.limiter.mode(), Mode::Stopped(_)) {
            return Err("a_worker_that_lacks_the_version_stops".to_owned());
        }
        Ok(())
    }

    fn arrive(&mut self, call: Call) -> Outcome {
        let strict = self.settings.delays != Delays::Stalls && self.settings.lost_permille == 0;
        let strict = strict && !self.report.counts.contains_key("recreate");
        let strict = strict
            && !self.report.counts.contains_key("kill")
            && !self.report.counts.contains_key("freeze");
        let answer = self.platform.arrive(&call, &self.log, strict, self.now)?;
        self.report.arrivals += 1;
        if answer.is_ok() && self.now >= self.measure_from {
            self.report.accepted += 1;
            let slot = self.workers[call.worker].slot;
            *self.report.started.entry(slot).or_default() += 1;
        }
        self.after(5 * MILLI, Happening::Answer { call, answer });
        Ok(())
    }

    fn answer(&mut self, call: Call, answer: Result<(), (Target, u64)>) -> Outcome {
        let Err((target, until)) = answer else {
            return Ok(());
        };
        self.count("throttled");
        self.say(|| format!("{} 429 {target:?}", call.worker));
        if !self.workers[call.worker].alive {
            return Ok(());
        }
        let named = match &target {
            Target::Unnamed { scope, chat } => Target::Chat {
                scope: scope.clone(),
                chat: chat.clone(),
            },
            Target::Chat { .. } | Target::Account { .. } | Target::Address { .. } => target.clone(),
        };
        for penalty in &mut self.platform.penalties {
            if penalty.target == named {
                penalty.answered.get_or_insert(self.now);
                penalty.told.entry(call.worker).or_insert(self.now);
            }
        }
        let wait = std::time::Duration::from_micros(until.saturating_sub(self.now).max(1));
        let reason = "429".to_owned();
        self.tell(
            call.worker,
            Event::Throttled {
                target,
                wait,
                reason,
            },
        )
    }

    fn demand(&mut self) -> Outcome {
        self.platform.forget(self.now);
        for number in 0..self.workers.len() {
            if !self.workers[number].alive {
                continue;
            }
            for scope in 0..self.settings.scopes.len() {
                self.demand_of(number, scope)?;
            }
        }
        self.after(DEMAND_EVERY, Happening::Demand);
        Ok(())
    }

    fn demand_of(&mut self, number: usize, scope: usize) -> Outcome {
        for (index, class) in Class::ALL.into_iter().enumerate() {
            let saturated = self.settings.saturated.contains(&index);
            let missing = if saturated {
                self.settings
                    .backlog
                    .saturating_sub(self.workers[number].waiting(scope, class))
            } else if self.settings.chaos || self.settings.saturated.is_empty() {
                usize::from(self.random.chance(20))
            } else {
                0
            };
            for _ in 0..missing {
                self.want(number, scope, class)?;
            }
        }
        Ok(())
    }

    pub(crate) fn want(&mut self, number: usize, scope: usize, class: Class) -> Outcome {
        let sign = if self.random.chance(self.settings.groups_permille) {
            "-"
        } else {
            ""
        };
        let chat = format!("{sign}{}", self.random.between(1, self.settings.chats));
        let worker = &mut self.workers[number];
        worker.next_permit += 1;
        let permit = PermitId(worker.next_permit);
        let message = Message {
            scope,
            chat: chat.clone(),
            class,
            since: self.now,
        };
        worker.messages.insert(permit, message);
        let scope = self.settings.scopes[scope].0.clone();
        self.tell(
            number,
            Event::Want {
                permit,
                scope,
                chat,
                class,
            },
        )
    }

    pub(crate) fn operate(&mut self, number: usize, operation: Operation) -> Outcome {
        self.tell(number, Event::Operate(operation))
    }
}

pub(crate) fn class_index(class: Class) -> usize {
    Class::ALL
        .iter()
        .position(|other| *other == class)
        .unwrap_or(0)
}

fn brief(effect: &Effect) -> String {
    let text = match effect {
        Effect::Append { id, value, .. } => format!("append {id:?} {} bytes", value.len()),
        other => format!("{other:?}"),
    };
    text.chars().take(200).collect()
}

fn brief_what(what: &What) -> String {
    format!("{what:?}").chars().take(300).collect()
}
