//! What a worker writes reaches the log, and what is there reaches the workers.

use tidings_ratelimit::{AppendId, Event, Mode, ScopeLimits, What};

use crate::settings::{MILLI, SECOND};
use crate::world::{Happening, Outcome, World, brief_what, class_index};

impl World {
    pub(crate) fn send(&mut self, number: usize, id: AppendId, value: Vec<u8>) {
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
    pub(crate) fn follow_limits(&mut self, what: &What) {
        let later = self.now + SECOND;
        match what {
            What::Begun => {
                self.count("begun");
                self.begun += 1;
                for (name, limits) in &self.settings.scopes {
                    if self.platform.has(name, limits) {
                        continue;
                    }
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

    pub(crate) fn read(&mut self, number: usize, from: i64) {
        let epoch = self.log.epoch;
        let worker = &mut self.workers[number];
        worker.position = from;
        worker.reading = worker.epoch == epoch;
        worker.generation += 1;
        worker.delivery = None;
        self.schedule_delivery(number);
    }

    pub(crate) fn schedule_delivery(&mut self, number: usize) {
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

    pub(crate) fn deliver(&mut self, number: usize, generation: u64) -> Outcome {
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
    pub(crate) fn compare(&mut self, number: usize) -> Outcome {
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
    pub(crate) fn note_told(&mut self, number: usize) {
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
}
