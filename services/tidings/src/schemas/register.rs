//! `tidings schemas register`.

use serde_json::json;
use tidings_edge::registry::{RegistryClient, RegistryError, Subjects};
use tidings_envelope::EventType;

use super::check::{findings, tell, unusable};
use super::{Chosen, SchemasOptions};
use crate::exit::Exit;

pub(super) async fn run(options: &SchemasOptions) -> anyhow::Result<Exit> {
    let chosen = Chosen::of(options)?;
    let catalogue = match &chosen.catalogue {
        Ok(catalogue) => catalogue,
        Err(error) => return Ok(tell(&[unusable(error)], options.json)),
    };
    let subjects = Subjects::new(&chosen.config.registry)?;
    let found = findings(catalogue, chosen.folder.as_deref(), Some(&subjects)).await?;
    if tell(&found, options.json) == Exit::Refused {
        return Ok(Exit::Refused);
    }
    let client = RegistryClient::new(&chosen.config.registry)?;
    for event in catalogue.iter() {
        let id = match register(&client, &subjects, event).await? {
            Ok(id) => id,
            Err(refused) => return Ok(tell(&[unusable(&refused)], options.json)),
        };
        if options.json {
            println!("{}", json!({"subject": event.full_name(), "schema_id": id}));
        } else {
            println!("{}: registered, id {id}", event.full_name());
        }
    }
    Ok(Exit::Done)
}

/// The inner error is the registry's refusal.
async fn register(
    client: &RegistryClient,
    subjects: &Subjects,
    event: &EventType,
) -> anyhow::Result<Result<u32, RegistryError>> {
    let subject = event.full_name();
    let known = !subjects.editions(subject).await?.is_empty();
    // A subject must exist before it can be strict; one that exists is made strict before anything is added to it.
    if known {
        subjects.require_full_transitive(subject).await?;
    }
    let id = match client.register(subject, event.schema_json()).await {
        Ok(id) => id,
        Err(refused @ RegistryError::Refused { .. }) => return Ok(Err(refused)),
        Err(error) => return Err(error.into()),
    };
    if !known {
        subjects.require_full_transitive(subject).await?;
    }
    Ok(Ok(id))
}
