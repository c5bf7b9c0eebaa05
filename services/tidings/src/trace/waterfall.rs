//! A trace's spans as a tree in time, and how that is shown.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use tidings_edge::telemetry::traces::attributes;

use super::jaeger::{Span, Trace};

/// What is worth a place on a span's line, and what it is called there.
const SHOWN: [(&str, &str); 9] = [
    (attributes::HTTP_STATUS, "status"),
    (attributes::HTTP_RESEND_COUNT, "resend"),
    (attributes::STATEMENT, "statement"),
    (attributes::MESSAGING_BATCH_COUNT, "together"),
    (attributes::MESSAGING_PARTITION, "partition"),
    (attributes::KAFKA_OFFSET, "offset"),
    (attributes::VERDICT, "verdict"),
    (attributes::OUTCOME, "outcome"),
    (attributes::CATEGORY, "category"),
];

/// The most characters of a failure's description on a line.
const DESCRIPTION_CHARS: usize = 80;

/// The spans of one message, in the order in which they are read.
pub(super) struct Waterfall {
    trace_id: String,
    rows: Vec<Row>,
}

struct Row {
    depth: usize,
    parent: Option<String>,
    service: String,
    span: Span,
}

impl Waterfall {
    /// The message's part of a trace: its `create` span with what is above and below it, or all of the trace where the
    /// span is missing.
    pub(super) fn of(trace: Trace, create_span_id: &str) -> Self {
        let parents = parents(&trace);
        let kept = kept(&trace, &parents, create_span_id);
        let mut children: HashMap<Option<String>, Vec<Span>> = HashMap::new();
        let spans = trace.spans.into_iter();
        for span in spans.filter(|span| kept.contains(&span.span_id)) {
            let parent = parents.get(&span.span_id).cloned();
            let parent = parent.filter(|parent| kept.contains(parent));
            children.entry(parent).or_default().push(span);
        }
        let service = |span: &Span| {
            let process = trace.processes.get(&span.process_id);
            process.map_or_else(String::new, |process| process.service_name.clone())
        };
        Self {
            trace_id: trace.trace_id,
            rows: in_reading_order(children, service),
        }
    }

    pub(super) fn trace_id(&self) -> &str {
        &self.trace_id
    }

    /// Whether a record of the message has left its dispatcher.
    pub(super) fn has_settled(&self) -> bool {
        self.rows
            .iter()
            .any(|row| row.span.operation_name.starts_with("process "))
    }

    /// For people: offset, duration, name by depth, what matters, errors.
    pub(super) fn text(&self) -> String {
        let began = self.began();
        let width = self
            .rows
            .iter()
            .map(|row| 2 * row.depth + row.span.operation_name.chars().count())
            .max()
            .unwrap_or_default();
        let mut text = format!(
            "{:>12}  {:>11}  {:<width$}  service\n",
            "offset", "duration", "span"
        );
        for row in &self.rows {
            let name = format!(
                "{:indent$}{}",
                "",
                row.span.operation_name,
                indent = 2 * row.depth
            );
            // Writing to a String does not fail.
            let _ = writeln!(
                text,
                "{:>9} ms  {:>8} ms  {name:<width$}  {}{}",
                millis(row.span.start_time.saturating_sub(began)),
                millis(row.span.duration),
                row.service,
                row.details()
            );
        }
        text
    }

    /// For programs: one object a span.
    pub(super) fn json_lines(&self) -> impl Iterator<Item = String> {
        let began = self.began();
        self.rows.iter().map(move |row| {
            let tags = row.span.tags.iter();
            let tags: Map<String, Value> = tags
                .map(|tag| (tag.key.clone(), tag.value.clone()))
                .collect();
            json!({
                "trace_id": self.trace_id, "span_id": row.span.span_id, "parent_span_id": row.parent,
                "depth": row.depth, "offset_micros": row.span.start_time.saturating_sub(began),
                "duration_micros": row.span.duration, "name": row.span.operation_name, "service": row.service,
                "error": row.failed(), "attributes": tags,
            })
            .to_string()
        })
    }

    fn began(&self) -> u64 {
        let starts = self.rows.iter().map(|row| row.span.start_time);
        starts.min().unwrap_or_default()
    }
}

impl Row {
    fn tag(&self, key: &str) -> Option<&Value> {
        let found = self.span.tags.iter().find(|tag| tag.key == key)?;
        Some(&found.value)
    }

    fn failed(&self) -> bool {
        self.tag("error") == Some(&Value::Bool(true))
    }

    fn details(&self) -> String {
        let mut text = String::new();
        for (key, name) in SHOWN {
            if let Some(value) = self.tag(key) {
                let _ = write!(text, "  {name}={}", plain(value));
            }
        }
        if self.failed() {
            let text_of = |key| self.tag(key).map(plain).unwrap_or_default();
            let (what, why) = (
                text_of(attributes::ERROR_TYPE),
                text_of("otel.status_description"),
            );
            let why: String = why.chars().take(DESCRIPTION_CHARS).collect();
            let what = if why.contains(&what) { "" } else { &what };
            let _ = write!(text, "  ERROR {what} {why}");
        }
        text
    }
}

/// Each span's parent, by span id. Links are references too; a span that has only links in its trace stands under the
/// first, as on Jaeger's own pages.
fn parents(trace: &Trace) -> HashMap<String, String> {
    let parent = |span: &Span| {
        let inside = || {
            let references = span.references.iter();
            references.filter(|reference| reference.trace_id == trace.trace_id)
        };
        let child_of = inside().find(|reference| reference.ref_type == "CHILD_OF");
        let found = child_of.or_else(|| inside().next())?;
        Some((span.span_id.clone(), found.span_id.clone()))
    };
    trace.spans.iter().filter_map(parent).collect()
}

/// Each span before what is below it, spans of one parent by their starts.
fn in_reading_order(
    mut children: HashMap<Option<String>, Vec<Span>>,
    service: impl Fn(&Span) -> String,
) -> Vec<Row> {
    let mut latest_first = |parent: Option<String>| {
        let mut spans = children.remove(&parent).unwrap_or_default();
        spans.sort_by_key(|span| (std::cmp::Reverse(span.start_time), span.duration));
        spans
    };
    let mut rows = Vec::new();
    let mut open: Vec<_> = latest_first(None)
        .into_iter()
        .map(|span| (0, None, span))
        .collect();
    while let Some((depth, parent, span)) = open.pop() {
        let id = Some(span.span_id.clone());
        let below = latest_first(id.clone()).into_iter();
        open.extend(below.map(|span| (depth + 1, id.clone(), span)));
        rows.push(Row {
            depth,
            parent,
            service: service(&span),
            span,
        });
    }
    rows
}

/// The spans above and below `create`, itself included, as far as Jaeger has them.
fn kept(trace: &Trace, parents: &HashMap<String, String>, create: &str) -> HashSet<String> {
    let ids = || trace.spans.iter().map(|span| span.span_id.clone());
    let known: HashSet<String> = ids().collect();
    if !known.contains(create) {
        return known;
    }
    // A trace comes from outside: a circle of parents must end too.
    let way_up = |from: &str| {
        let mut way = vec![from.to_owned()];
        while let Some(next) = way.last().and_then(|last| parents.get(last))
            && way.len() <= parents.len()
        {
            way.push(next.clone());
        }
        way
    };
    let above = way_up(create).into_iter().filter(|id| known.contains(id));
    let below = ids().filter(|id| way_up(id).iter().any(|parent| parent == create));
    above.chain(below).collect()
}

fn millis(micros: u64) -> String {
    format!("{}.{:03}", micros / 1_000, micros % 1_000)
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}

#[cfg(test)]
mod tests;
