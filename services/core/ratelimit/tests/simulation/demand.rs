//! Messages that want to be sent.

use tidings_ratelimit::{Class, Event, PermitId};

use crate::settings::MILLI;
use crate::worker::Message;
use crate::world::{Happening, Outcome, World};

const DEMAND_EVERY: u64 = 40 * MILLI;

impl World {
    pub(crate) fn demand(&mut self) -> Outcome {
        self.platform.forget(self.now);
        for number in 0..self.workers.len() {
            if !self.workers[number].alive {
                continue;
            }
            for scope in 0..self.settings.scopes.len() {
                self.demand_of(number, scope)?;
            }
        }
        self.after(DEMAND_EVERY, Happening::Demand);
        Ok(())
    }

    pub(crate) fn demand_of(&mut self, number: usize, scope: usize) -> Outcome {
        for (index, class) in Class::ALL.into_iter().enumerate() {
            let saturated = self.settings.saturated.contains(&index);
            let missing = if saturated {
                self.settings
                    .backlog
                    .saturating_sub(self.workers[number].waiting(scope, class))
            } else if self.settings.chaos || self.settings.saturated.is_empty() {
                usize::from(self.random.chance(20))
            } else {
                0
            };
            for _ in 0..missing {
                self.want(number, scope, class)?;
            }
        }
        Ok(())
    }

    pub(crate) fn want(&mut self, number: usize, scope: usize, class: Class) -> Outcome {
        let sign = if self.random.chance(self.settings.groups_permille) {
            "-"
        } else {
            ""
        };
        let chat = format!("{sign}{}", self.random.between(1, self.settings.chats));
        let worker = &mut self.workers[number];
        worker.next_permit += 1;
        let permit = PermitId(worker.next_permit);
        let message = Message {
            scope,
            chat: chat.clone(),
            class,
            since: self.now,
        };
        worker.messages.insert(permit, message);
        let scope = self.settings.scopes[scope].0.clone();
        self.tell(
            number,
            Event::Want {
                permit,
                scope,
                chat,
                class,
            },
        )
    }
}
