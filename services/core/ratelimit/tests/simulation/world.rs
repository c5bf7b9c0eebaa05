//! One world: what happens next, until the end.

use std::collections::{BTreeMap, BTreeSet};

use tidings_ratelimit::{
    AppendId, Class, Effect, Event, Mode, Moment, Operation, PermitId, Target, What,
};

use uuid::Uuid;

use crate::chaos::Chaos;
use crate::log::Log;
use crate::platform::{Call, Platform};
use crate::random::Random;
use crate::settings::{Delays, MILLI, SECOND, Settings};
use crate::worker::Worker;

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
    pub(crate) begun: u64,
    pub(crate) served: BTreeSet<(u64, Uuid, u64)>,
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

    pub(crate) fn perform(&mut self, number: usize, effects: Vec<Effect>) -> Outcome {
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

pub(crate) fn brief_what(what: &What) -> String {
    format!("{what:?}").chars().take(300).collect()
}
