//! Faults that wait for a step: "crashes at every step" without waiting for chance to hit each.

use crate::dispatcher::WorkerRef;
use crate::happening::Happening;
use crate::relay::ShardRef;
use crate::times::MILLI;
use crate::trace::note;
use crate::world::World;

/// A step of a record's way, at which a fault may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Claim,
    Start,
    Call,
    Answer,
    Settle,
    DeadLetter,
    Release,
    Commit,
    Defer,
    Load,
    Undefer,
    Close,
}

impl Step {
    pub(crate) const ALL: [Self; 12] = [
        Self::Claim,
        Self::Start,
        Self::Call,
        Self::Answer,
        Self::Settle,
        Self::DeadLetter,
        Self::Release,
        Self::Commit,
        Self::Defer,
        Self::Load,
        Self::Undefer,
        Self::Close,
    ];
}

/// What then happens to the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blow {
    Kill,
    Freeze,
}

impl Blow {
    pub(crate) const ALL: [Self; 2] = [Self::Kill, Self::Freeze];
}

/// A step of a row's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelayStep {
    Read,
    Produce,
    Acknowledge,
    Write,
}

impl RelayStep {
    pub(crate) const ALL: [Self; 4] = [Self::Read, Self::Produce, Self::Acknowledge, Self::Write];
}

impl World {
    /// If a fault waits for this step of a worker, it strikes at once or a moment later.
    pub(crate) fn spring(&mut self, at: WorkerRef, step: Step) {
        let trap = self.workers[at.worker].trap;
        let Some((_, blow)) = trap.filter(|(awaited, _)| *awaited == step) else {
            return;
        };
        self.workers[at.worker].trap = None;
        self.after_a_step(Happening::Blow(at, blow));
    }

    pub(crate) fn blow(&mut self, at: WorkerRef, blow: Blow) {
        if !self.lives(at) {
            return;
        }
        note!(self, "fault         {at}: {blow:?}");
        match blow {
            Blow::Kill => {
                self.counts.add("workers killed at a step");
                self.end_worker(at.worker);
            }
            Blow::Freeze => {
                self.counts.add("workers frozen at a step");
                self.freeze_worker(at.worker);
            }
        }
    }

    /// The same for a relay.
    pub(crate) fn spring_relay(&mut self, at: ShardRef, step: RelayStep) {
        let trap = self.relays[at.relay].trap;
        let Some((_, blow)) = trap.filter(|(awaited, _)| *awaited == step) else {
            return;
        };
        self.relays[at.relay].trap = None;
        self.after_a_step(Happening::RelayBlow(at, blow));
    }

    /// At once, while what was just sent is on the wire, or when it has arrived.
    fn after_a_step(&mut self, blow: Happening) {
        let most = self.random.pick(&[0, 500, 3 * MILLI, 60 * MILLI]);
        self.after(0, most, blow);
    }

    pub(crate) fn relay_blow(&mut self, at: ShardRef, blow: Blow) {
        let relay = &self.relays[at.relay];
        if !relay.alive || relay.life != at.life {
            return;
        }
        note!(self, "fault         {at}: {blow:?}");
        match blow {
            Blow::Kill => {
                self.counts.add("relays killed at a step");
                self.end_relay(at.relay);
            }
            Blow::Freeze => {
                self.counts.add("relays frozen at a step");
                self.freeze_relay(at.relay);
            }
        }
    }
}
