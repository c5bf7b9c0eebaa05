//! `tidings deferred show`.

use super::options::ShowOptions;
use super::store::{Deferred, Message};
use super::{nothing_matched, open, words};
use crate::exit::Exit;
use crate::out::line;

pub(super) async fn run(options: &ShowOptions) -> anyhow::Result<Exit> {
    let store = open(&options.common, &options.which).await?;
    // A chat has at least its marker, and no more chats than messages are of use here.
    let chats = store.list(options.limit).await?;
    if chats.is_empty() {
        return Ok(nothing_matched());
    }
    let mut messages = store.messages(options.limit.saturating_add(1)).await?;
    let most = usize::try_from(options.limit).unwrap_or(usize::MAX);
    let more = messages.len() > most;
    messages.truncate(most);
    match options.common.json {
        true => messages
            .iter()
            .for_each(|message| line(words::message_json(message))),
        false => print_text(&chats, &messages),
    }
    if more {
        eprintln!("there are more than {most}; --limit shows them, or name a chat");
    }
    Ok(Exit::Done)
}

fn print_text(chats: &[Deferred], messages: &[Message]) {
    for deferred in chats {
        line(words::line(deferred));
        let theirs = messages.iter().filter(|message| {
            (&message.topic, message.partition, &message.chat)
                == (&deferred.topic, deferred.partition, &deferred.chat)
        });
        theirs.for_each(|message| line(words::message_line(message)));
    }
}
