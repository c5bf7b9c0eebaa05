//! What goes wrong.

use tidings_ratelimit::{Body, Event, Limits, Operation, Record, Target};

use crate::platform::Kind;
use crate::settings::{MILLI, SECOND, window};
use crate::world::{Happening, Outcome, World};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chaos {
    /// A worker dies and another takes its place a little later.
    Kill,
    /// All die at once.
    KillAll,
    /// Somebody begins.
    Begin(usize),
    /// A worker does nothing for a while, and does not notice.
    Freeze,
    /// The next call of some scope gets 429.
    Penalty,
    /// An operator ends penalties.
    Reset,
    /// An operator holds something.
    Hold,
    /// The broker's clock steps.
    Step,
    /// Other limits.
    Limits,
    /// The second version of the machine is demanded.
    Version,
    /// Bytes that are no record.
    Garbage,
    /// All records are deleted.
    Truncate,
    /// The topic is deleted and made anew.
    Recreate,
    /// A record with another log's id.
    Stray,
    /// A worker leaves the log and looks at it again.
    Lose,
}

const KINDS: [(Chaos, u64); 14] = [
    (Chaos::Kill, 12),
    (Chaos::KillAll, 2),
    (Chaos::Freeze, 6),
    (Chaos::Penalty, 20),
    (Chaos::Reset, 3),
    (Chaos::Hold, 3),
    (Chaos::Step, 12),
    (Chaos::Limits, 6),
    (Chaos::Version, 2),
    (Chaos::Garbage, 3),
    (Chaos::Truncate, 2),
    (Chaos::Recreate, 2),
    (Chaos::Stray, 2),
    (Chaos::Lose, 3),
];

impl World {
    pub(crate) fn plan_chaos(&mut self) {
        let count = self.random.between(3, 14);
        let total: u64 = KINDS.iter().map(|(_, weight)| weight).sum();
        for _ in 0..count {
            let at = self
                .random
                .between(0, self.settings.calm_from.saturating_sub(SECOND));
            let mut drawn = self.random.between(0, total - 1);
            for (kind, weight) in KINDS {
                if drawn < weight {
                    self.after(at, Happening::Chaos(kind));
                    break;
                }
                drawn -= weight;
            }
        }
    }

    fn some_worker(&mut self) -> Option<usize> {
        let alive: Vec<usize> = (0..self.workers.len())
            .filter(|number| self.workers[*number].alive)
            .collect();
        (!alive.is_empty()).then(|| self.random.pick(&alive))
    }

    fn some_scope(&mut self) -> usize {
        self.random
            .between(0, self.settings.scopes.len() as u64 - 1) as usize
    }

    pub(crate) fn inflict(&mut self, chaos: Chaos) -> Outcome {
        self.say(|| format!("chaos {chaos:?}"));
        match chaos {
            Chaos::Kill => {
                if let Some(number) = self.some_worker() {
                    self.kill(number);
                }
                Ok(())
            }
            Chaos::KillAll => {
                for number in 0..self.workers.len() {
                    if self.workers[number].alive {
                        self.kill(number);
                    }
                }
                Ok(())
            }
            Chaos::Begin(slot) => {
                self.begin_worker(slot);
                Ok(())
            }
            Chaos::Freeze => {
                self.count("freeze");
                if let Some(number) = self.some_worker() {
                    let wait = self.random.between(5 * MILLI, 3 * SECOND);
                    self.workers[number].frozen_until = self.now + wait;
                }
                Ok(())
            }
            Chaos::Penalty => {
                self.count("penalty");
                let scope = self.some_scope();
                let kind =
                    self.random
                        .pick(&[Kind::Chat, Kind::Account, Kind::Address, Kind::Unnamed]);
                let seconds = self.random.between(1, 4);
                let name = self.settings.scopes[scope].0.clone();
                self.platform.next.insert(name, (kind, seconds));
                Ok(())
            }
            Chaos::Reset => self.reset(),
            Chaos::Hold => self.hold(),
            Chaos::Step => {
                let most = self.settings.steps_millis;
                if most > 0 {
                    self.count("step");
                    let step = self.random.between(0, 2 * most) as i64 - most as i64;
                    self.log.step_clock(step);
                }
                Ok(())
            }
            Chaos::Limits => self.change_limits(),
            Chaos::Version => self.demand_version(),
            Chaos::Garbage => {
                self.count("garbage");
                let length = self.random.between(0, 60);
                let mut value: Vec<u8> = (0..length).map(|_| self.random.next() as u8).collect();
                // A later schema's version would rightly stop everybody.
                if value.first() == Some(&b'R') || self.random.chance(500) {
                    value.splice(0..0, *b"R\x01");
                }
                self.append(usize::MAX, self.log.epoch, value)
            }
            Chaos::Truncate => {
                self.count("truncate");
                self.log.truncate();
                Ok(())
            }
            Chaos::Recreate => self.recreate(),
            Chaos::Stray => {
                self.count("stray");
                let record = Record {
                    log_id: uuid::Uuid::from_u128(u128::from(self.random.next()) + 1),
                    body: Body::Reset(tidings_ratelimit::Reset {
                        id: uuid::Uuid::nil(),
                        target: Target::Account {
                            scope: self.settings.scopes[0].0.clone(),
                        },
                        operator: "sim".to_owned(),
                        reason: "stray".to_owned(),
                    }),
                };
                self.append(usize::MAX, self.log.epoch, record.encode())
            }
            Chaos::Lose => match self.some_worker() {
                None => Ok(()),
                Some(number) => self.tell(
                    number,
                    Event::Lost {
                        reason: "sim".to_owned(),
                    },
                ),
            },
        }
    }

    fn kill(&mut self, number: usize) {
        self.count("kill");
        self.workers[number].alive = false;
        let slot = self.workers[number].slot;
        let wait = self.random.between(10 * MILLI, 2 * SECOND);
        self.after(wait, Happening::Chaos(Chaos::Begin(slot)));
    }

    fn reset(&mut self) -> Outcome {
        let index = self.some_scope();
        let scope = self.settings.scopes[index].0.clone();
        let Some(number) = self.some_worker() else {
            return Ok(());
        };
        self.count("reset");
        let target = Target::Account {
            scope: scope.clone(),
        };
        self.platform.forgive(&scope);
        let (operator, reason) = ("sim".to_owned(), "sim".to_owned());
        self.operate(
            number,
            Operation::Reset {
                target,
                operator,
                reason,
            },
        )
    }

    fn hold(&mut self) -> Outcome {
        let index = self.some_scope();
        let scope = self.settings.scopes[index].0.clone();
        let Some(number) = self.some_worker() else {
            return Ok(());
        };
        self.count("hold");
        let wait = std::time::Duration::from_millis(self.random.between(100, 3_000));
        let (operator, reason) = ("sim".to_owned(), "sim".to_owned());
        let target = Target::Account { scope };
        self.operate(
            number,
            Operation::Penalise {
                target,
                wait,
                operator,
                reason,
            },
        )
    }

    /// The platform's limits change, and the operator follows: before a stricter one takes effect, after a looser.
    fn change_limits(&mut self) -> Outcome {
        let index = self.some_scope();
        let Some(number) = self.some_worker() else {
            return Ok(());
        };
        if self.report.counts.contains_key("limits") {
            return Ok(());
        }
        self.count("limits");
        let scope = self.settings.scopes[index].0.clone();
        let mut limits = self.settings.scopes[index].1.clone();
        let count = self.random.pick(&[3, 10, 60, 100]);
        let period = self.random.pick(&[1, 3, 6]);
        let stricter = self.random.chance(500);
        if stricter {
            limits.scope.push(window(count, period));
        } else {
            limits.scope = vec![window(count, period)];
            self.platform
                .change(&scope, tidings_ratelimit::ScopeLimits::default(), self.now);
        }
        let (operator, reason) = ("sim".to_owned(), "sim".to_owned());
        self.operate(
            number,
            Operation::SetLimits {
                scope,
                limits,
                operator,
                reason,
            },
        )
    }

    fn demand_version(&mut self) -> Outcome {
        let log_id = self.log.reference.log_id();
        if !self.settings.versions || log_id.is_nil() {
            return Ok(());
        }
        self.count("version");
        self.second_version = true;
        let limits = Limits {
            id: uuid::Uuid::from_u128(77),
            machine_version: 2,
            scope: None,
            operator: "sim".to_owned(),
            reason: "sim".to_owned(),
        };
        let record = Record {
            log_id,
            body: Body::Limits(limits),
        };
        self.append(usize::MAX, self.log.epoch, record.encode())
    }

    /// The old topic's readers notice, each in its own time.
    fn recreate(&mut self) -> Outcome {
        self.count("recreate");
        self.log.recreate();
        for number in 0..self.workers.len() {
            self.workers[number].reading = false;
            self.workers[number].generation += 1;
            self.workers[number].delivery = None;
        }
        for number in 0..self.workers.len() {
            self.tell(
                number,
                Event::Lost {
                    reason: "recreated".to_owned(),
                },
            )?;
        }
        Ok(())
    }
}
