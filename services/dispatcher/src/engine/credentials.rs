//! An account whose credential was refused: people are told, and another credential is looked for where the configuration
//! says that it is (design §8).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use metrics::gauge;
use tidings_delivery::Event;
use tidings_edge::telemetry::metric_names;
use tidings_platforms::Secret;
use tokio::task::JoinHandle;
use tracing::{error, info};

use super::{Engine, Input};

/// How often a stopped account's credential is read again.
const LOOK: Duration = Duration::from_secs(1);

/// The accounts that stopped, each with what looks for another credential.
#[derive(Default)]
pub(super) struct Stopped(BTreeMap<Arc<str>, JoinHandle<()>>);

impl Drop for Stopped {
    fn drop(&mut self) {
        for look in self.0.values() {
            look.abort();
        }
    }
}

impl Engine {
    pub(super) fn account_broken(&mut self, account: &Arc<str>, look: Duration, reason: &Arc<str>) {
        error!(
            %account, %reason, look_seconds = look.as_secs(),
            "the platform refuses this account's credential: it is stopped, its messages wait; replace the credential where the configuration points at, and it goes on by itself"
        );
        set_stopped(account, true);
        let watch = tokio::spawn(watch(
            Arc::clone(account),
            Arc::clone(&self.parts.caller),
            self.inputs.clone(),
        ));
        if let Some(before) = self.stopped.0.insert(Arc::clone(account), watch) {
            before.abort();
        }
    }

    pub(super) fn account_mended(&mut self, account: &Arc<str>) {
        info!(%account, "this account's credential is accepted, or is another: it goes on");
        set_stopped(account, false);
        if let Some(look) = self.stopped.0.remove(account) {
            look.abort();
        }
    }

    /// Another credential was found, or an operator asked to try again.
    pub(super) fn new_credential(&mut self, account: Arc<str>, token: Secret) {
        if self.parts.caller.set_token(&account, token) {
            info!(%account, "another credential was read; it is used from now on");
        }
        self.tell(Event::CredentialChanged(account));
    }
}

fn set_stopped(account: &Arc<str>, stopped: bool) {
    gauge!(metric_names::ACCOUNT_STOPPED, "account" => account.to_string())
        .set(f64::from(u8::from(stopped)));
}

/// Reads the account's credential until it is another.
async fn watch(
    account: Arc<str>,
    caller: Arc<crate::calls::Caller>,
    inputs: tokio::sync::mpsc::UnboundedSender<Input>,
) {
    loop {
        tokio::time::sleep(LOOK).await;
        let (caller, name) = (Arc::clone(&caller), Arc::clone(&account));
        // A file may lie on a disk that does not answer.
        let read = tokio::task::spawn_blocking(move || caller.other_token(&name)).await;
        if let Ok(Some(token)) = read {
            // Closed means that the worker ended.
            let _ = inputs.send(Input::Credential(account, token));
            return;
        }
    }
}
