//! One event type in one version.

use super::{Declaration, Kind, OnDead, OnStale, Policy, RetryProfile, TextSource};
use crate::fingerprint::Fingerprint;
use crate::portable::NotPortable;
use crate::shape::RecordShape;
use crate::template::TextMaker;
use apache_avro::Schema;
use std::fmt;

/// One event type in one major version: what it declares, its schema, and how its text is made.
pub struct EventType {
    pub(super) name: String,
    pub(super) version: i32,
    pub(super) declaration: Declaration,
    pub(super) full_name: String,
    pub(super) schema: Schema,
    pub(super) schema_json: String,
    pub(super) fingerprint: Fingerprint,
    pub(super) data: RecordShape,
    pub(super) text: TextMaker,
    pub(super) not_portable: Option<NotPortable>,
}

impl fmt::Debug for EventType {
    /// Only name and version: the schema is long, and in every message's Debug.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventType({} v{})", self.name, self.version)
    }
}

impl EventType {
    /// For example `order.confirmed`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The major version, from 1.
    pub fn version(&self) -> i32 {
        self.version
    }

    /// Who answers for it.
    pub fn owner(&self) -> &str {
        &self.declaration.owner
    }

    /// What follows an attempt whose outcome is unknown.
    pub fn policy(&self) -> Policy {
        self.declaration.policy
    }

    /// How failures are retried.
    pub fn retry(&self) -> RetryProfile {
        self.declaration.retry
    }

    /// What follows a message that had to be given up.
    pub fn on_dead(&self) -> OnDead {
        self.declaration.on_dead
    }

    /// What happens to a message older than one already seen of its aggregate.
    pub fn on_stale(&self) -> OnStale {
        self.declaration.on_stale
    }

    /// Whether it tells or asks.
    pub fn kind(&self) -> Kind {
        self.declaration.kind
    }

    /// Where its text comes from.
    pub fn text_source(&self) -> TextSource {
        self.declaration.text
    }

    /// The version whose template makes its text, if one does: its own, or the newest that it is upcast to.
    pub fn template_version(&self) -> Option<i32> {
        self.text.version()
    }

    /// Why its template is not in the registered schema, if it is not: a dispatcher that does not know this version could
    /// not run it within bounds.
    pub fn not_portable(&self) -> Option<&NotPortable> {
        self.not_portable.as_ref()
    }

    /// The composed record's Avro full name, which is the registry subject (design §5), for
    /// example `tidings.order.confirmed.v1.Envelope`.
    pub fn full_name(&self) -> &str {
        &self.full_name
    }

    /// The composed schema: envelope and data in one record.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The composed schema's text, to register.
    pub fn schema_json(&self) -> &str {
        &self.schema_json
    }

    /// The fingerprint of [`Self::schema_json`].
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    pub(crate) fn data(&self) -> &RecordShape {
        &self.data
    }

    pub(crate) fn text(&self) -> &TextMaker {
        &self.text
    }

    /// Splits a full name into event type and version; `None` if it is none of ours.
    pub(crate) fn split_full_name(full_name: &str) -> Option<(&str, i32)> {
        let inner = full_name
            .strip_prefix("tidings.")?
            .strip_suffix(".Envelope")?;
        let (name, version) = inner.rsplit_once(".v")?;
        Some((name, version.parse().ok()?))
    }
}
