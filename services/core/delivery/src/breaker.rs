//! The circuit breaker of an account (design §8, B22): a platform that fails most calls is left alone, looked at from time
//! to time by a probe, and taken up again step by step. What waits for it burns no attempt.

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::Moment;
use crate::window::Window;

/// When a circuit opens, how it is probed, and how it comes back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CircuitOptions {
    /// The newest outcomes that are looked at (design §8: 200).
    pub window: usize,
    /// Outcomes that must have been seen before it may open.
    pub min_outcomes: usize,
    /// The share of failures at which it opens, 0.0 to 1.0 (design §8: 0.5).
    pub share: f64,
    /// How long it stays open at first; twice as long after each failed probe.
    pub wait: Duration,
    /// The longest that it stays open before the next probe.
    pub wait_max: Duration,
    /// Calls at once while it is half open.
    pub probes: usize,
    /// After it closed there is one call at once; after each step with successes twice as many.
    pub ramp_step: Duration,
}

impl Default for CircuitOptions {
    fn default() -> Self {
        Self {
            window: 200,
            min_outcomes: 20,
            share: 0.5,
            wait: Duration::from_secs(5),
            wait_max: Duration::from_secs(60),
            probes: 1,
            ramp_step: Duration::from_secs(1),
        }
    }
}

/// What a circuit is seen as from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CircuitState {
    /// Calls go out; after an outage few at once, then more.
    Closed,
    /// Probes go out, nothing else.
    HalfOpen,
    /// Nothing goes out.
    Open {
        /// Until probes may go out, from the change on.
        wait: Duration,
    },
}

/// What a call says about its platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// It works, whatever it thinks of the message.
    Works,
    /// Transient or unknown: it, or the way to it, does not.
    Fails,
    /// An answer that no table knows: no failure of calls, and no proof that it works.
    Unclear,
}

/// Under which state of the circuit a call started: what an older one says is not about this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

/// One account's circuit.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    outcomes: Window<Sign>,
    state: State,
    /// Numbers the states: see [`Ticket`].
    round: u64,
    /// How long it was open last; zero once it has come back fully.
    last_wait: Duration,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Closed,
    Open {
        until: Moment,
    },
    HalfOpen {
        probing: usize,
    },
    Ramp {
        /// Calls at once.
        places: usize,
        /// When the step began.
        since: Moment,
        worked: usize,
        failed: usize,
    },
}

impl Breaker {
    /// Calls that there may be at once, those on their way included, when the account's own bound is `bound`; an open
    /// circuit whose wait is over becomes half open. While it is half open the calls that count are its probes: see
    /// [`Self::may_start`].
    pub(crate) fn places(&self, bound: usize, options: &CircuitOptions) -> usize {
        match self.state {
            State::Closed => bound,
            State::Open { .. } => 0,
            State::HalfOpen { .. } => options.probes.max(1).min(bound),
            State::Ramp { places, .. } => places.min(bound),
        }
    }

    /// Whether a call more may start now with `calling` on their way.
    pub(crate) fn may_start(&self, calling: usize, bound: usize, options: &CircuitOptions) -> bool {
        let counted = match self.state {
            // What is left of the time before says nothing about the probes' room.
            State::HalfOpen { probing } => probing,
            State::Closed | State::Open { .. } | State::Ramp { .. } => calling,
        };
        counted < self.places(bound, options)
    }

    /// Counts a call that starts, after [`Self::may_start`] allowed it.
    pub(crate) fn start(&mut self) -> Ticket {
        if let State::HalfOpen { probing } = &mut self.state {
            *probing += 1;
        }
        Ticket(self.round)
    }

    /// A call that was counted did not go out after all.
    pub(crate) fn withdraw(&mut self, ticket: Ticket) {
        if ticket.0 == self.round
            && let State::HalfOpen { probing } = &mut self.state
        {
            *probing = probing.saturating_sub(1);
        }
    }

    /// Makes an open circuit half open when its wait is over.
    pub(crate) fn look(&mut self, now: Moment) -> Option<CircuitState> {
        match self.state {
            State::Open { until } if until <= now => {
                Some(self.enter(State::HalfOpen { probing: 0 }))
            }
            State::Open { .. } | State::Closed | State::HalfOpen { .. } | State::Ramp { .. } => {
                None
            }
        }
    }

    /// When an open circuit is to be looked at.
    pub(crate) fn opens_until(&self) -> Option<Moment> {
        match self.state {
            State::Open { until } => Some(until),
            State::Closed | State::HalfOpen { .. } | State::Ramp { .. } => None,
        }
    }

    /// Takes a call's sign in; `bound` is the account's own bound of calls at once. Says what changed.
    pub(crate) fn record(
        &mut self,
        ticket: Ticket,
        sign: Sign,
        bound: usize,
        now: Moment,
        options: &CircuitOptions,
    ) -> Option<CircuitState> {
        if ticket.0 != self.round {
            return None;
        }
        match self.state {
            State::Open { .. } => None,
            State::HalfOpen { .. } => Some(match sign {
                Sign::Works => self.close(now, options),
                Sign::Fails | Sign::Unclear => self.open(now, options),
            }),
            State::Closed => {
                self.outcomes.push(sign, options.window);
                self.open_at_share(options.min_outcomes, now, options)
            }
            State::Ramp { places, .. } => {
                self.outcomes.push(sign, options.window);
                // The fewer go out, the fewer say enough: a platform that falls back is left alone at once.
                let least = places.saturating_mul(2).min(options.min_outcomes);
                let opened = self.open_at_share(least, now, options);
                if opened.is_none() {
                    self.step(sign, bound, now, options);
                }
                opened
            }
        }
    }

    fn open_at_share(
        &mut self,
        least: usize,
        now: Moment,
        options: &CircuitOptions,
    ) -> Option<CircuitState> {
        let fails = |sign| sign == Sign::Fails;
        let opens = self.outcomes.reaches(least, options.share, fails);
        opens.then(|| self.open(now, options))
    }

    fn open(&mut self, now: Moment, options: &CircuitOptions) -> CircuitState {
        let wait = if self.last_wait.is_zero() {
            options.wait
        } else {
            self.last_wait.saturating_mul(2)
        };
        self.last_wait = wait.min(options.wait_max);
        self.outcomes.clear();
        self.enter(State::Open {
            until: now.after(self.last_wait),
        })
    }

    fn close(&mut self, now: Moment, options: &CircuitOptions) -> CircuitState {
        self.outcomes.clear();
        self.outcomes.push(Sign::Works, options.window);
        self.enter(State::Ramp {
            places: 1,
            since: now,
            worked: 0,
            failed: 0,
        })
    }

    /// A step with more successes than failures doubles the calls at once; another begins in any case.
    fn step(&mut self, sign: Sign, bound: usize, now: Moment, options: &CircuitOptions) {
        let State::Ramp {
            places,
            since,
            worked,
            failed,
        } = &mut self.state
        else {
            return;
        };
        match sign {
            Sign::Works => *worked += 1,
            Sign::Fails => *failed += 1,
            Sign::Unclear => {}
        }
        if since.until(now) < options.ramp_step {
            return;
        }
        if worked > failed {
            *places = places.saturating_mul(2);
        }
        (*since, *worked, *failed) = (now, 0, 0);
        if *places >= bound {
            self.last_wait = Duration::ZERO;
            // Not a change to those outside, and not to the calls on their way.
            self.state = State::Closed;
        }
    }

    fn enter(&mut self, state: State) -> CircuitState {
        self.round += 1;
        self.state = state;
        match self.state {
            State::Closed | State::Ramp { .. } => CircuitState::Closed,
            State::Open { .. } => CircuitState::Open {
                wait: self.last_wait,
            },
            State::HalfOpen { .. } => CircuitState::HalfOpen,
        }
    }
}
