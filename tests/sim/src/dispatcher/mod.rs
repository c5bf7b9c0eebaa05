//! Workers around the real machine: one process each, with its own monotonic zero and its own wrong wall clock.

mod calls;
mod deferrals;
mod life;
mod membership;
mod news;
mod perform;
mod permits;
mod records;
mod worker;

use tidings_delivery::{Event, Load, Moment, Now};

use crate::happening::Happening;
use crate::invariants;
use crate::times::WALL_BEGIN;
use crate::world::World;

pub(crate) use life::draw_limits;
pub(crate) use news::WorkerNews;
pub(crate) use permits::Wish;
use worker::{Assignment, Held, Leaving, Phase};
pub(crate) use worker::{Worker, WorkerRef};

impl World {
    pub(crate) fn reference(&self, worker: usize) -> WorkerRef {
        WorkerRef {
            worker,
            life: self.workers[worker].life,
        }
    }

    pub(crate) fn lives(&self, reference: WorkerRef) -> bool {
        let worker = &self.workers[reference.worker];
        worker.alive && worker.life == reference.life
    }

    /// Whether the group's coordinator hears of it.
    pub(crate) fn is_reachable(&self, reference: WorkerRef) -> bool {
        let worker = &self.workers[reference.worker];
        let silent_until = worker.frozen_until.max(worker.cut_from_kafka_until);
        self.lives(reference) && silent_until <= self.now
    }

    fn moment(&self, worker: usize) -> Moment {
        Moment(self.now + self.workers[worker].moment_ahead)
    }

    fn wall_micros(&self, worker: usize) -> i64 {
        WALL_BEGIN + self.now as i64 + self.workers[worker].wall_skew_micros
    }

    /// Hands one event to the machine and performs what it wants done.
    pub(crate) fn tell(&mut self, to: WorkerRef, event: Event) {
        let now = Now {
            moment: self.moment(to.worker),
            wall_micros: self.wall_micros(to.worker),
        };
        let mut effects = Vec::new();
        let machine = &mut self.workers[to.worker].machine;
        machine.handle(event, now, &mut effects);
        for effect in effects {
            self.perform(to, effect);
        }
        self.tick_later(to);
        let worker = &self.workers[to.worker];
        if worker.machine.load().records == 0 {
            self.check(invariants::an_idle_worker_wants_nothing(
                to.worker,
                worker.wishes.len(),
            ));
        }
        let worker = &self.workers[to.worker];
        self.check(invariants::nothing_is_unbounded(
            to,
            worker.machine.load(),
            &self.limits,
            self.kafka.logs.len(),
        ));
    }

    fn tick_later(&mut self, to: WorkerRef) {
        let worker = &mut self.workers[to.worker];
        let Some(next) = worker.machine.next_timer() else {
            return;
        };
        let at = next.0.saturating_sub(worker.moment_ahead).max(self.now);
        if worker.ticks_at.is_none_or(|ticks_at| ticks_at > at) {
            worker.ticks_at = Some(at);
            self.at(at, Happening::Worker(to, WorkerNews::Tick));
        }
    }

    /// What the workers' machines hold.
    pub(crate) fn loads(&self) -> Vec<Load> {
        let workers = self.workers.iter();
        workers.map(|worker| worker.machine.load()).collect()
    }

    /// Whether nothing is left in a worker's machine.
    pub(crate) fn is_idle(&self, worker: usize) -> bool {
        let worker = &self.workers[worker];
        let load = worker.machine.load();
        worker.alive && load.records == 0 && load.deferred_chats == 0
    }
}
