//! Reading the evidence: upstream's database, Tidings' database, the simulator's log and Kafka.

mod database;
mod error;
mod inputs;
mod kafka;
mod rest;
mod simulator;
mod state;
mod upstream;

use std::collections::HashSet;

use uuid::Uuid;

use crate::evidence::{Evidence, Rest};

pub use error::GatherError;
pub use inputs::{Inputs, KafkaInputs, SimulatorLog, Wait};

use kafka::Kafka;

/// Waits for the system to come to rest, if asked to, and reads everything once.
///
/// # Errors
/// When a source cannot be reached, lacks a table, or holds what the judge cannot read; the text
/// names the remedy.
pub async fn gather(inputs: &Inputs) -> Result<Evidence, GatherError> {
    let kafka = inputs.kafka.as_ref().map(Kafka::connect).transpose()?;
    let rest = match &inputs.wait {
        Some(wait) => rest::wait(inputs, kafka.as_ref(), wait).await?,
        None => Rest::NotAwaited,
    };
    let upstream = upstream::read(&inputs.upstream_url, &inputs.scope).await?;
    let wanted: Vec<Uuid> = upstream.ledger.iter().map(|row| row.message_id).collect();
    let claims = state::read(&inputs.state_url, &wanted).await?;
    let deferred = state::deferred(&inputs.state_url, &wanted).await?;
    let calls = simulator::read(&inputs.simulator).await?;
    let kafka = match &kafka {
        Some(kafka) => Some(kafka.read().await?),
        None => None,
    };
    Ok(Evidence {
        scope: inputs.scope.clone(),
        ledger: upstream.ledger,
        rolled_back: upstream.rolled_back,
        outbox: upstream.outbox,
        held: upstream.held,
        rejected_by_relay: upstream.rejected,
        claims,
        deferred,
        calls,
        kafka,
        faults: inputs.faults.clone(),
        require_delivery: inputs.require_delivery,
        rest,
    })
}

/// What upstream's database holds.
#[derive(Default)]
struct Upstream {
    ledger: Vec<crate::evidence::LedgerRow>,
    rolled_back: Vec<crate::evidence::RolledBack>,
    outbox: HashSet<Uuid>,
    held: HashSet<Uuid>,
    rejected: std::collections::HashMap<Uuid, String>,
}
