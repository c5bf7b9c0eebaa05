use std::time::Duration;

use rand::Rng;
use rand::rngs::StdRng;
use serde::Serialize;

/// What is done to a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Fault {
    /// kill -9, started again after a moment.
    Kill,
    /// SIGSTOP for longer than session and lease, then SIGCONT: a zombie wakes.
    Freeze,
    /// SIGTERM, started again.
    Terminate,
}

/// One fault of a round's plan.
#[derive(Debug, Clone, Copy)]
pub(super) struct Planned {
    /// The wait since the fault before.
    pub(super) after: Duration,
    pub(super) fault: Fault,
    /// An index into the round's roles.
    pub(super) victim: usize,
    /// How long the victim is away, or frozen.
    pub(super) away: Duration,
}

/// A round's faults, from its seed. `frozen_for` is longer than session timeout and lease together.
pub(super) fn plan(
    random: &mut StdRng,
    faults: usize,
    roles: usize,
    frozen_for: Duration,
) -> Vec<Planned> {
    (0..faults)
        .map(|_| {
            let fault = match random.random_range(0..10) {
                0..6 => Fault::Kill,
                6..8 => Fault::Freeze,
                _ => Fault::Terminate,
            };
            let away = match fault {
                Fault::Kill | Fault::Terminate => {
                    Duration::from_millis(random.random_range(0..2_000))
                }
                Fault::Freeze => frozen_for,
            };
            Planned {
                after: Duration::from_millis(random.random_range(200..2_000)),
                fault,
                victim: random.random_range(0..roles),
                away,
            }
        })
        .collect()
}
