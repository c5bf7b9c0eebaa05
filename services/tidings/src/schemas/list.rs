//! `tidings schemas list`.

use serde_json::json;
use tidings_edge::registry::{Subjects, SubjectsError};
use tidings_envelope::EventType;

use super::{Chosen, SchemasOptions};
use crate::exit::Exit;

pub(super) async fn run(options: &SchemasOptions) -> anyhow::Result<Exit> {
    let chosen = Chosen::of(options)?;
    let subjects = Subjects::new(&chosen.config.registry)?;
    let mut registry = Registry::Asked(subjects);
    for event in chosen.catalogue?.iter() {
        let ids = registry.ids(event).await;
        if options.json {
            println!("{}", line(event, ids.as_deref()));
        } else {
            println!("{}", words(event, ids.as_deref()));
        }
    }
    if let Registry::Away(error) = registry {
        eprintln!(
            "tidings: ids are not shown: {:#}",
            anyhow::Error::from(error)
        );
    }
    Ok(Exit::Done)
}

/// A registry, until it does not answer once.
enum Registry {
    Asked(Subjects),
    Away(SubjectsError),
}

impl Registry {
    async fn ids(&mut self, event: &EventType) -> Option<Vec<u32>> {
        let Self::Asked(subjects) = self else {
            return None;
        };
        match subjects.editions(event.full_name()).await {
            Ok(editions) => Some(editions.iter().map(|edition| edition.id).collect()),
            Err(error) => {
                *self = Self::Away(error);
                None
            }
        }
    }
}

fn line(event: &EventType, ids: Option<&[u32]>) -> serde_json::Value {
    json!({
        "event_type": event.name(),
        "version": event.version(),
        "kind": event.kind(),
        "owner": event.owner(),
        "policy": event.policy(),
        "retry": event.retry(),
        "on_dead": event.on_dead(),
        "on_stale": event.on_stale(),
        "text": event.text_source(),
        "template_version": event.template_version(),
        "subject": event.full_name(),
        "schema_ids": ids,
    })
}

fn words(event: &EventType, ids: Option<&[u32]>) -> String {
    let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let ids = match ids {
        None => String::new(),
        Some([]) => "  not registered".to_owned(),
        Some(ids) => format!(
            "  ids {}",
            ids.iter()
                .map(u32::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    format!(
        "{:<24} v{}  {:<14} {:<7} {}{ids}",
        event.name(),
        event.version(),
        event.owner(),
        word(json!(event.policy())),
        event.full_name(),
    )
}
