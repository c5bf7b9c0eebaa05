//! What an operator changes about a worker while it runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidings_delivery::Event;
use tidings_platforms::Secret;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{Engine, Input};

/// Something that a running worker takes over (B14).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// How many calls of each account there may be at once, in this worker. Accounts that it does not have are ignored.
    CallsLimits(BTreeMap<String, usize>),
    /// The accounts' credentials as they are now; an account that was stopped is tried again, with the same one too.
    Credentials(BTreeMap<String, Secret>),
}

impl Engine {
    /// Takes changes from here until their sender or the worker ends.
    pub(crate) fn listen(&self, mut changes: mpsc::Receiver<Change>) -> JoinHandle<()> {
        let inputs = self.inputs.clone();
        tokio::spawn(async move {
            while let Some(change) = changes.recv().await {
                if inputs.send(Input::Changed(change)).is_err() {
                    return;
                }
            }
        })
    }

    pub(super) fn take_change(&mut self, change: Change) {
        match change {
            Change::Credentials(tokens) => {
                for (account, token) in tokens {
                    if self.parts.caller.knows(&account) {
                        self.new_credential(Arc::from(account), token);
                    }
                }
            }
            Change::CallsLimits(limits) => {
                for (account, limit) in limits {
                    if self.parts.caller.knows(&account) {
                        let account = Arc::from(account);
                        self.tell(Event::CallsLimit { account, limit });
                    }
                }
            }
        }
    }
}
