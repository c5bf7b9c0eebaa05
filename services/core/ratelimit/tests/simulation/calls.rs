//! What a worker does with its grants, and what the platform says to it.

use tidings_ratelimit::{Class, Event, Mode, Moment, PermitId, Start, Target};

use crate::platform::Call;
use crate::settings::{Delays, MILLI};
use crate::world::{Happening, Outcome, World, class_index};

/// From a start to the platform: the same for all, but for the jitter.
const WAY: u64 = 15 * MILLI;
/// With the slack of a start it stays within slack and margin.
const JITTER: u64 = 3 * MILLI;

impl World {
    /// The caller sleeps until the grant begins, and wakes a little late.
    pub(crate) fn granted(&mut self, number: usize, permit: PermitId, from: Moment) {
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

    pub(crate) fn start(&mut self, number: usize, permit: PermitId, lateness: u64) -> Outcome {
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
            Start::Go { .. } => self.call(number, permit),
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

    pub(crate) fn call(&mut self, number: usize, permit: PermitId) -> Outcome {
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

    pub(crate) fn check_start(&self, number: usize) -> Outcome {
        let worker = &self.workers[number];
        if matches!(worker.limiter.mode(), Mode::Stopped(_)) {
            return Err("a_worker_that_lacks_the_version_stops".to_owned());
        }
        Ok(())
    }

    pub(crate) fn arrive(&mut self, call: Call) -> Outcome {
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

    pub(crate) fn answer(&mut self, call: Call, answer: Result<(), (Target, u64)>) -> Outcome {
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
}
