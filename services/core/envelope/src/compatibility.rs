//! Whether two schemas of one event type and major version read each other's messages, field by field (design §5:
//! FULL_TRANSITIVE inside a major version).
//!
//! Stricter than Avro on purpose where a difference would change a meaning: a decimal's scale, a time that becomes a
//! number. So what passes here passes a registry too, and what does not is told with the field.

use crate::catalogue::EventType;
use crate::rejection::capped;
use crate::shape::{FieldShape, RecordShape, Shape, ShapeError};
use apache_avro::Schema;
use std::fmt;

/// Chars that one part of a [`Break`] may have: names come from a registry.
const PART_CHARS: usize = 300;
const NEW_VERSION: &str =
    "put the change into a new version (v<N+1>.avsc, and an upcaster or its own template)";

/// One difference that a reader of the one schema and a writer of the other would stumble over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// The field: `data.total.amount`, `envelope.priority`.
    pub field: String,
    /// What changed, and whom it breaks.
    pub problem: String,
    /// What to do.
    pub remedy: String,
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}. Remedy: {}",
            self.field, self.problem, self.remedy
        )
    }
}

impl EventType {
    /// What keeps this version's schema and an earlier one of the same subject from reading each other's messages; empty
    /// if nothing does.
    pub fn breaks_with(&self, earlier_schema_json: &str) -> Vec<Break> {
        compare(
            earlier_schema_json,
            "envelope",
            RecordShape::of(self.schema(), "envelope"),
        )
    }

    /// The same with an earlier edition of `v<N>.avsc` alone.
    pub fn breaks_with_data(&self, earlier_data_json: &str) -> Vec<Break> {
        compare(earlier_data_json, "data", Ok(self.data().clone()))
    }
}

fn compare(earlier_json: &str, root: &str, newer: Result<RecordShape, ShapeError>) -> Vec<Break> {
    let mut found = Breaks::default();
    match (Schema::parse_str(earlier_json), newer) {
        (Ok(earlier), Ok(newer)) => match RecordShape::of(&earlier, root) {
            Ok(earlier) => found.records(root, &earlier, &newer),
            Err(ShapeError { field, problem }) => found.incomparable(&field, problem),
        },
        (Err(error), _) => found.incomparable(root, &error.to_string()),
        (_, Err(ShapeError { field, problem })) => found.incomparable(&field, problem),
    }
    found.0
}

#[derive(Default)]
struct Breaks(Vec<Break>);

impl Breaks {
    fn add(&mut self, field: &str, problem: String, remedy: &str) {
        // People know the data's fields by the name that `tidings.publish` has for them.
        let field = field
            .strip_prefix("envelope.data")
            .map_or(field.to_owned(), |rest| format!("data{rest}"));
        self.0.push(Break {
            field: capped(field, PART_CHARS),
            problem: capped(problem, PART_CHARS),
            remedy: remedy.to_owned(),
        });
    }

    fn incomparable(&mut self, field: &str, problem: &str) {
        self.add(
            field,
            format!("the earlier schema cannot be compared: it {problem}"),
            NEW_VERSION,
        );
    }

    fn records(&mut self, at: &str, earlier: &RecordShape, newer: &RecordShape) {
        self.names(at, &earlier.name, &newer.name);
        for field in &newer.fields {
            let place = format!("{at}.{}", field.name);
            match earlier.field(&field.name) {
                Some(before) => self.shapes(&place, &before.shape, &field.shape),
                None => self.added(&place, field),
            }
        }
        for field in &earlier.fields {
            if newer.field(&field.name).is_none() {
                self.removed(&format!("{at}.{}", field.name), field);
            }
        }
    }

    fn added(&mut self, at: &str, field: &FieldShape) {
        if field.default.is_none() {
            self.add(
                at,
                "was added without a default, and messages that are already written lack it"
                    .to_owned(),
                &format!("make it [\"null\", …] with \"default\": null, or {NEW_VERSION}"),
            );
        }
    }

    fn removed(&mut self, at: &str, field: &FieldShape) {
        if field.default.is_none() {
            self.add(
                at,
                "was removed, and has no default in the earlier schema, whose readers need it"
                    .to_owned(),
                &format!("keep it, or {NEW_VERSION}"),
            );
        }
    }

    fn shapes(&mut self, at: &str, earlier: &Shape, newer: &Shape) {
        match (earlier, newer) {
            (Shape::Record(earlier), Shape::Record(newer)) => self.records(at, earlier, newer),
            (Shape::Array(earlier), Shape::Array(newer)) => {
                self.shapes(&format!("{at}[]"), earlier, newer)
            }
            (Shape::Optional(earlier), Shape::Optional(newer)) => self.shapes(at, earlier, newer),
            // Symbols may come and go: every enum has a default, which whoever does not know one reads.
            (Shape::Enum(earlier), Shape::Enum(newer)) => {
                self.names(at, &earlier.name, &newer.name)
            }
            (earlier, newer) => {
                let (before, after) = (spelled(earlier), spelled(newer));
                if before != after {
                    self.add(
                        at,
                        format!("changed its type from {before} to {after}"),
                        &format!(
                            "keep the type and add another field with a default, or {NEW_VERSION}"
                        ),
                    );
                }
            }
        }
    }

    fn names(&mut self, at: &str, earlier: &str, newer: &str) {
        if earlier != newer {
            self.add(
                at,
                format!(
                    "its type was renamed from {earlier} to {newer}, and readers look for the name"
                ),
                &format!("keep the name, or {NEW_VERSION}"),
            );
        }
    }
}

/// A type as people write it.
fn spelled(shape: &Shape) -> String {
    match shape {
        Shape::Boolean => "boolean".to_owned(),
        Shape::Int => "int".to_owned(),
        Shape::Long => "long".to_owned(),
        Shape::Double => "double".to_owned(),
        Shape::String => "string".to_owned(),
        Shape::Uuid => "uuid".to_owned(),
        Shape::Timestamp => "timestamp-micros".to_owned(),
        Shape::Decimal(decimal) => format!("decimal({}, {})", decimal.precision(), decimal.scale()),
        Shape::Enum(choice) => format!("enum {}", choice.name),
        Shape::Array(items) => format!("array of {}", spelled(items)),
        Shape::Record(record) => format!("record {}", record.name),
        Shape::Optional(inner) => format!("[\"null\", {}]", spelled(inner)),
    }
}
