//! `tidings deferred list`.

use super::options::ListOptions;
use super::{nothing_matched, open, words};
use crate::exit::Exit;
use crate::out::line;

pub(super) async fn run(options: &ListOptions) -> anyhow::Result<Exit> {
    let store = open(&options.common, &options.which).await?;
    let mut found = store.list(options.limit.saturating_add(1)).await?;
    if found.is_empty() {
        return Ok(nothing_matched());
    }
    let most = usize::try_from(options.limit).unwrap_or(usize::MAX);
    let more = found.len() > most;
    found.truncate(most);
    for deferred in &found {
        match options.common.json {
            true => line(words::as_json(deferred)),
            false => line(words::line(deferred)),
        }
    }
    if more {
        eprintln!("there are more than {most}; --limit shows them, or name a chat or account");
    }
    Ok(Exit::Done)
}
