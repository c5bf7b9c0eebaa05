//! `tidings trace`: a message's waterfall, from Jaeger's query API.

mod jaeger;
mod waterfall;

use std::time::{Duration, Instant};

use anyhow::Context as _;
use tidings_envelope::trace::create_context;
use uuid::Uuid;

use crate::cli::TraceOptions;
use crate::exit::Exit;

use jaeger::Jaeger;
use waterfall::Waterfall;

const LOOK_AGAIN: Duration = Duration::from_millis(100);

pub(crate) async fn run(options: TraceOptions) -> anyhow::Result<Exit> {
    let jaeger = Jaeger::new(&options.jaeger)?;
    let Some(waterfall) = find(&jaeger, options.message_id).await? else {
        eprintln!(
            "no trace of message {} in {}: it was not sampled, is not there yet, or is forgotten already",
            options.message_id, options.jaeger
        );
        return Ok(Exit::NothingMatched);
    };
    if options.json {
        for line in waterfall.json_lines() {
            println!("{line}");
        }
    } else {
        print!("{}", shown(&jaeger, options.message_id, &waterfall));
    }
    Ok(Exit::Done)
}

/// The trace of a message that was just delivered, as text; waits up to `patience` until its last span is there.
pub(crate) async fn of_delivered(
    jaeger_url: &str,
    message_id: Uuid,
    patience: Duration,
) -> anyhow::Result<Option<String>> {
    let jaeger = Jaeger::new(jaeger_url)?;
    let until = Instant::now() + patience;
    loop {
        let found = find(&jaeger, message_id).await?;
        let complete = found.as_ref().is_some_and(Waterfall::has_settled);
        if complete || Instant::now() >= until {
            return Ok(found.map(|waterfall| shown(&jaeger, message_id, &waterfall)));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

fn shown(jaeger: &Jaeger, message_id: Uuid, waterfall: &Waterfall) -> String {
    format!(
        "trace {} of message {message_id}\n{}\n\n{}",
        waterfall.trace_id(),
        jaeger.page_of(waterfall.trace_id()),
        waterfall.text()
    )
}

/// The message's own trace has a derived id. One that continues upstream's is found by the message's id in its spans.
async fn find(jaeger: &Jaeger, message_id: Uuid) -> anyhow::Result<Option<Waterfall>> {
    let context = create_context(message_id, None);
    let create = hex(&context.span_id);
    let own = jaeger.trace(&hex(&context.trace_id)).await;
    let found = match own.context("Jaeger does not answer")? {
        Some(trace) => Some(trace),
        None => jaeger.search(&message_id.to_string()).await?,
    };
    Ok(found.map(|trace| Waterfall::of(trace, &create)))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
