//! What people saw: one post of each event type, so that a changed text is seen.

use std::collections::HashMap;
use std::fmt::Write as _;

use anyhow::Context as _;
use tidings_drill::Deployment;
use tidings_simulator::log::Entry;
use tokio_postgres::NoTls;

/// The first message of each event type.
const FIRST: &str = "SELECT DISTINCT ON (event_type) event_type, message_id::text FROM load.ledger
    WHERE run = $1 AND expect = 'posted' ORDER BY event_type, inserted_at, ordinal";

/// An event type, and how its first message arrived; none if it did not.
type Sample = (String, Option<Entry>);

/// A paragraph for each event type of the load's run.
pub(super) async fn samples(deployment: &Deployment, run: &str) -> anyhow::Result<String> {
    let first = first_messages(&deployment.place().upstream_url, run).await;
    let first = first.context("the ledger cannot be read")?;
    let mut posts = by_message(deployment.simulator().log_from(1));
    let samples = first
        .into_iter()
        .map(|(event_type, message_id)| (event_type, posts.remove(&message_id)));
    Ok(told(&samples.collect::<Vec<_>>()))
}

/// Event types with their first messages.
async fn first_messages(
    upstream_url: &str,
    run: &str,
) -> Result<Vec<(String, String)>, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(upstream_url, NoTls).await?;
    let connection = tokio::spawn(connection);
    let asked = client.query(FIRST, &[&run]).await;
    connection.abort();
    asked?
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect()
}

/// What was accepted, by the message that its attempt names first.
fn by_message(log: Vec<Entry>) -> HashMap<String, Entry> {
    let posts = log.into_iter().filter(|entry| entry.accepted);
    let posts = posts.filter_map(|entry| {
        let (message_id, _) = entry.attempt.as_deref()?.split_once('/')?;
        Some((message_id.to_owned(), entry))
    });
    posts.collect()
}

fn told(samples: &[Sample]) -> String {
    let mut out = "what people saw, one post of each event type:\n".to_owned();
    for (event_type, post) in samples {
        let chat = post.as_ref().and_then(|post| post.chat_id.as_deref());
        let place = chat.map_or_else(|| "(no post)".into(), |chat| format!("in chat {chat}"));
        // Writing to a String does not fail.
        let _ = writeln!(out, "\n  {event_type} {place}");
        let text = post.as_ref().and_then(|post| post.text.as_deref());
        for line in text.unwrap_or_default().lines() {
            let indented = format!("    {line}");
            let _ = writeln!(out, "{}", indented.trim_end());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(attempt: &str, accepted: bool, text: &str) -> Entry {
        let mut entry = serde_json::json!({"seq": 1, "received_at_micros": 0});
        for (field, value) in [("attempt", attempt), ("chat_id", "42"), ("text", text)] {
            entry[field] = value.into();
        }
        entry["accepted"] = accepted.into();
        serde_json::from_value(entry).unwrap()
    }

    #[test]
    fn a_post_is_found_by_its_message_and_shown_with_its_lines() {
        let log = vec![
            entry("m-1/w/1/1", false, "refused"),
            entry("m-1/w/1/2", true, "Order A\n\nShipped"),
        ];
        let mut posts = by_message(log);
        let sample = |event_type: &str, post| (event_type.to_owned(), post);
        let text = told(&[
            sample("order.shipped", posts.remove("m-1")),
            sample("order.lost", posts.remove("m-2")),
        ]);
        let expected = "what people saw, one post of each event type:\n\n  order.shipped in chat 42\n    Order A\n\n    Shipped\n\n  order.lost (no post)\n";
        assert_eq!(text, expected);
    }
}
