//! Random platforms, random calls, virtual time: what must hold whatever happens. A seed that failed is named in the
//! panic, and gives the same run again.

use super::*;
use crate::random::Random;

const SEEDS: u64 = 300;
const STEPS: u64 = 4_000;
const STEP_MICROS: u64 = 25_000;

struct World {
    random: Random,
    options: CircuitOptions,
    bound: usize,
    breaker: Breaker,
    now: Moment,
    /// Calls out: the ticket, when each ends, whether it is a probe of the half-open state that lasts.
    out: Vec<(Ticket, Moment)>,
    /// Started since the circuit became half open and not ended.
    probes: Vec<Ticket>,
    well: bool,
    seen: Option<CircuitState>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let options = CircuitOptions {
            probes: 1 + below(&mut random, 3),
            min_outcomes: 2 + below(&mut random, 30),
            ..CircuitOptions::default()
        };
        Self {
            bound: 1 + below(&mut random, 40),
            random,
            options,
            breaker: Breaker::default(),
            now: Moment::default(),
            out: Vec::new(),
            probes: Vec::new(),
            well: true,
            seen: None,
        }
    }

    fn changed(&mut self, change: Option<CircuitState>) {
        if change.is_some() {
            self.seen = change;
            self.probes.clear();
        }
    }

    fn start_all(&mut self, seed: u64) {
        while self
            .breaker
            .may_start(self.out.len(), self.bound, &self.options)
        {
            let open = matches!(self.seen, Some(CircuitState::Open { .. }));
            assert!(!open, "seed {seed}: a call starts while it is open");
            let ticket = self.breaker.start();
            if self.seen == Some(CircuitState::HalfOpen) {
                self.probes.push(ticket);
                let (probes, most) = (self.probes.len(), self.options.probes.max(1));
                assert!(
                    probes <= most,
                    "seed {seed}: {probes} probes, allowed {most}"
                );
            } else {
                assert!(self.out.len() < self.bound, "seed {seed}: past its bound");
            }
            let takes = 1_000 + below(&mut self.random, 400_000) as u64;
            self.out.push((ticket, Moment(self.now.0 + takes)));
        }
    }

    fn end_due(&mut self) {
        let due: Vec<Ticket> = self
            .out
            .extract_if(.., |(_, at)| *at <= self.now)
            .map(|(ticket, _)| ticket)
            .collect();
        for ticket in due {
            if let Some(at) = self.probes.iter().position(|probe| *probe == ticket) {
                self.probes.remove(at);
            }
            if self.random.unit() < 0.05 {
                self.breaker.withdraw(ticket);
                continue;
            }
            let sign = self.sign();
            let change = self
                .breaker
                .record(ticket, sign, self.bound, self.now, &self.options);
            self.changed(change);
        }
    }

    fn sign(&mut self) -> Sign {
        match (self.well, self.random.unit()) {
            (true, _) => Sign::Works,
            (false, unit) if unit < 0.8 => Sign::Fails,
            (false, unit) if unit < 0.9 => Sign::Unclear,
            (false, _) => Sign::Works,
        }
    }

    fn run(&mut self, steps: u64, seed: u64) {
        for _ in 0..steps {
            self.now = Moment(self.now.0 + STEP_MICROS);
            let change = self.breaker.look(self.now);
            self.changed(change);
            self.end_due();
            self.start_all(seed);
        }
    }
}

fn below(random: &mut Random, bound: usize) -> usize {
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    let drawn = (random.unit() * bound as f64) as usize;
    drawn
}

#[test]
fn never_a_call_while_open_never_a_probe_too_many_never_stuck_while_the_platform_is_well() {
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        for _ in 0..4 {
            let steps = below(&mut world.random, 800) as u64;
            world.well = !world.well;
            world.run(steps, seed);
        }
        world.well = true;
        // The longest wait is 60 s; then a probe, and a step a second up to the bound.
        world.run(STEPS, seed);
        assert_eq!(
            world.breaker.places(world.bound, &world.options),
            world.bound,
            "seed {seed}: the platform is well, and the circuit has not come back"
        );
        assert!(
            matches!(world.breaker.state, State::Closed),
            "seed {seed}: {:?}",
            world.breaker.state
        );
    }
}
