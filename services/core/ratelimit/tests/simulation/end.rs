//! What must be so when a world ends: its last fourteen seconds were calm.

use tidings_ratelimit::Mode;

use crate::settings::SECOND;
use crate::world::{Outcome, World};

/// The most bytes of state; a world has a few thousand messages a minute.
const MAX_STATE: usize = 300_000;
/// Whoever has messages is served this often in a fast scope. In a slow one it takes as many slots as there are workers,
/// or as a class may have to wait for, a few times over: grants may lapse.
const SERVED_EVERY: u64 = 6 * SECOND;

impl World {
    pub(crate) fn check_end(&mut self) -> Outcome {
        let size = self.log.reference.encode().len();
        if size > MAX_STATE {
            return Err(format!("state_is_bounded: {size} bytes"));
        }
        for number in 0..self.workers.len() {
            self.check_live(number)?;
            self.check_progress(number)?;
        }
        Ok(())
    }

    fn check_live(&self, number: usize) -> Outcome {
        let worker = &self.workers[number];
        let stopped = self.second_version && worker.machine_version < 2;
        match worker.limiter.mode() {
            _ if !worker.alive => Ok(()),
            Mode::Live => Ok(()),
            Mode::Stopped(_) if stopped => Ok(()),
            mode @ (Mode::Stopped(_) | Mode::Searching | Mode::Replaying | Mode::Closed(_)) => {
                Err(format!("all_are_live_in_the_end: {number} is {mode:?}"))
            }
        }
    }

    /// No class and no worker starves.
    fn check_progress(&self, number: usize) -> Outcome {
        let worker = &self.workers[number];
        let held = self
            .platform
            .penalties
            .iter()
            .any(|penalty| penalty.until > self.now - 3 * SECOND);
        // With few chats it is theirs that all wait for. Groups have to wait for a minute after the log began; other limits may be slow.
        let slow = self.settings.groups_permille > 0 || self.report.counts.contains_key("limits");
        let serves = worker.alive && *worker.limiter.mode() == Mode::Live;
        if !serves || held || slow || self.settings.chats < 1_000 {
            return Ok(());
        }
        let Some(first) = self.settings.saturated.first() else {
            return Ok(());
        };
        let pace = self.settings.slowest_pace();
        let waited = self.waited(worker.last_started[*first]);
        // Behind a class that goes first, workers wait for the slots that theirs is owed.
        let precedes = *first == 0 || !self.settings.chaos;
        if precedes && waited > SERVED_EVERY + 4 * pace * self.settings.workers as u64 {
            self.say(|| format!("{:?}", worker.limiter));
            return Err(format!(
                "no_worker_starves: {number} had nothing of class {first} for {waited} µs"
            ));
        }
        for class in &self.settings.saturated {
            let waited = self.waited(self.last_granted[*class]);
            if waited > SERVED_EVERY + 30 * pace {
                return Err(format!(
                    "no_class_starves: {class} had nothing for {waited} µs"
                ));
            }
        }
        Ok(())
    }

    /// How long, while nothing went wrong and nothing was held.
    fn waited(&self, since: u64) -> u64 {
        let calm = 14 * SECOND + self.settings.calm_from;
        self.now
            .saturating_sub(since.max(calm).max(self.platform.held_until))
    }
}
