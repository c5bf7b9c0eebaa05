//! `tidings schemas show`.

use serde_json::{Value, json};

use super::{Chosen, ShowOptions};
use crate::exit::Exit;

pub(super) fn run(options: &ShowOptions) -> anyhow::Result<Exit> {
    let catalogue = Chosen::of(&options.common)?.catalogue?;
    let name = &options.event_type;
    let event = match options.version {
        Some(version) => catalogue.find(name, version),
        None => match catalogue.versions(name).last() {
            Some(newest) => Ok(newest),
            None => catalogue.find(name, 1),
        },
    };
    let event = match event {
        Ok(event) => event,
        Err(rejection) => {
            println!("{rejection}");
            return Ok(Exit::NothingMatched);
        }
    };
    let schema: Value = serde_json::from_str(event.schema_json())?;
    if options.common.json {
        let shown = json!({
            "event_type": event.name(),
            "version": event.version(),
            "subject": event.full_name(),
            "schema": schema,
            "sample": event.sample(),
        });
        println!("{shown}");
    } else {
        println!("{}", serde_json::to_string_pretty(&schema)?);
        println!(
            "\nData that {} version {} takes:",
            event.name(),
            event.version()
        );
        println!("{}", serde_json::to_string_pretty(&event.sample())?);
    }
    Ok(Exit::Done)
}
