//! The query API, read without the code of `tidings trace`.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::world::PATIENCE;

const LOOK_AGAIN: Duration = Duration::from_millis(50);

pub struct Jaeger(String);

/// A trace's spans.
pub struct Trace {
    pub spans: Vec<Value>,
    /// All that Jaeger said.
    pub text: String,
}

impl Jaeger {
    pub fn at(url: &str) -> Self {
        Self(url.to_owned())
    }

    pub fn url(&self) -> &str {
        &self.0
    }

    pub async fn trace(&self, id: &str) -> Option<Trace> {
        let url = format!("{}/api/traces/{id}", self.0);
        let text = reqwest::get(url).await.unwrap().text().await.unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        let spans = answer["data"].get(0)?["spans"].as_array()?.clone();
        Some(Trace { spans, text })
    }

    /// Waits until a service has a span of this name.
    pub async fn operation(&self, service: &str, name: &str) {
        let url = format!("{}/api/services/{service}/operations", self.0);
        let until = Instant::now() + PATIENCE;
        loop {
            let text = reqwest::get(&url).await.unwrap().text().await.unwrap();
            let answer: Value = serde_json::from_str(&text).unwrap();
            let known = answer["data"].as_array();
            if known.is_some_and(|known| known.iter().any(|operation| operation == name)) {
                return;
            }
            assert!(Instant::now() < until, "{service} has no {name}: {text}");
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Waits until the trace has all of `names`, as often as they are named.
    pub async fn trace_with(&self, id: &str, names: &[&str]) -> Trace {
        let until = Instant::now() + PATIENCE;
        loop {
            let trace = self.trace(id).await;
            let has_all = trace.as_ref().is_some_and(|trace| {
                let count = |name: &str| trace.named(name).len();
                names
                    .iter()
                    .all(|name| count(name) >= names.iter().filter(|other| *other == name).count())
            });
            match trace {
                Some(trace) if has_all => return trace,
                Some(_) | None if Instant::now() < until => {}
                Some(trace) => panic!("{names:?} are not all in {}", trace.text),
                None => panic!("there is no trace {id}"),
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

impl Trace {
    /// The spans of this name, by their starts.
    pub fn named(&self, name: &str) -> Vec<&Value> {
        let mut spans: Vec<_> = self
            .spans
            .iter()
            .filter(|span| span["operationName"] == name)
            .collect();
        spans.sort_by_key(|span| span["startTime"].as_u64());
        spans
    }

    pub fn one(&self, name: &str) -> &Value {
        match self.named(name).as_slice() {
            [span] => span,
            others => panic!("{} spans named {name} in {}", others.len(), self.text),
        }
    }
}

pub fn id(span: &Value) -> &str {
    span["spanID"].as_str().unwrap()
}

pub fn parent(span: &Value) -> Option<&str> {
    let references = span["references"].as_array()?;
    let parent = references
        .iter()
        .find(|reference| reference["refType"] == "CHILD_OF")?;
    parent["spanID"].as_str()
}

pub fn tag<'a>(span: &'a Value, key: &str) -> &'a Value {
    let tags = span["tags"].as_array().unwrap();
    let found = tags.iter().find(|tag| tag["key"] == key);
    found.map_or(&Value::Null, |tag| &tag["value"])
}
