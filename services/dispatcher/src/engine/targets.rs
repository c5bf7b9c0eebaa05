//! What the registry of targets says goes to the machine.

use tidings_delivery::Event;
use tidings_edge::targets::TargetRow;
use tokio::task::JoinHandle;

use super::{Engine, Input};
use crate::targets::told;

impl Engine {
    pub(super) fn watch_targets(&self) -> JoinHandle<()> {
        let (registry, inputs) = (self.parts.targets.clone(), self.inputs.clone());
        // Closed means that the worker ended.
        tokio::spawn(registry.watch(move |rows| inputs.send(Input::Targets(rows)).is_ok()))
    }

    pub(super) fn targets(&mut self, rows: Vec<TargetRow>) {
        for row in rows {
            let (target, state) = told(row);
            self.tell(Event::TargetChanged { target, state });
        }
    }
}
