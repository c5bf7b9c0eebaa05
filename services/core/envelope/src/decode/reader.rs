//! Avro decoding by apache-avro, made strict.

use crate::{Limits, Poison, PoisonCategory};
use apache_avro::Schema;
use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::types::Value;
use std::io::{self, Read};

/// Reads exactly one value of the schema from the whole of `body`.
pub(super) fn read(schema: &Schema, body: &[u8], limits: &Limits) -> Result<Value, Poison> {
    // Process-wide, and the first caller's value stays (reference/libraries.md, avro-rs #581).
    apache_avro::util::max_allocation_bytes(limits.allocation_bytes());
    let invalid = |problem: String| Poison::new(PoisonCategory::InvalidBytes, "value", problem);
    let mut input = Strict {
        rest: body,
        starved: false,
    };
    let value = GenericDatumReader::builder(schema)
        .build()
        .and_then(|reader| reader.read_value(&mut input));
    if input.starved {
        return Err(invalid("ends before its schema does".to_owned()));
    }
    let value = value.map_err(|error| invalid(error.to_string()))?;
    match input.rest.len() {
        0 => Ok(value),
        extra => Err(invalid(format!("has {extra} bytes more than its schema"))),
    }
}

/// Bytes that remember whether more were asked for: apache-avro takes the end of its input inside
/// a string or a union for null.
struct Strict<'b> {
    rest: &'b [u8],
    starved: bool,
}

impl Read for Strict<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.rest.read(into)?;
        self.starved |= count == 0 && !into.is_empty();
        Ok(count)
    }
}
