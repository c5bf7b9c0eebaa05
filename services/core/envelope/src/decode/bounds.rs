//! Bounds on a foreign schema, so that no bytes can make Avro decoding recurse or grow without end.

use apache_avro::Schema;
use apache_avro::schema::{NamesRef, ResolvedSchema};

/// Nesting, references followed: beyond it lies recursion, or a schema made to exhaust the stack.
const MAX_DEPTH: usize = 32;
/// Types, references followed: a value of them all may be written in few bytes.
const MAX_TYPES: usize = 4_096;

/// Refuses a schema that nests or repeats itself beyond bounds, or whose arrays have items that
/// take no bytes (a count of a billion of them is five bytes long).
pub(super) fn check(schema: &Schema) -> Result<(), &'static str> {
    let resolved =
        ResolvedSchema::new(schema).map_err(|_| "refers to a name that it does not define")?;
    let mut walk = Walk {
        names: resolved.get_names(),
        types_left: MAX_TYPES,
    };
    walk.takes_bytes(schema, MAX_DEPTH).map(|_| ())
}

struct Walk<'s> {
    names: &'s NamesRef<'s>,
    types_left: usize,
}

impl Walk<'_> {
    /// Whether every value of the schema takes at least one byte.
    // Avro's enum is not ours and grows; every other type takes bytes and holds no others.
    #[allow(clippy::wildcard_enum_match_arm)]
    fn takes_bytes(&mut self, schema: &Schema, depth: usize) -> Result<bool, &'static str> {
        let depth = depth
            .checked_sub(1)
            .ok_or("nests too deeply or inside itself")?;
        self.types_left = self.types_left.checked_sub(1).ok_or("has too many types")?;
        match schema {
            Schema::Null => Ok(false),
            Schema::Fixed(fixed) => Ok(fixed.size > 0),
            Schema::Array(array) => self.items(&array.items, depth),
            Schema::Map(map) => self.takes_bytes(&map.types, depth).map(|_| true),
            Schema::Union(union) => {
                for variant in union.variants() {
                    self.takes_bytes(variant, depth)?;
                }
                Ok(true)
            }
            Schema::Record(record) => {
                let mut takes = false;
                for field in &record.fields {
                    takes |= self.takes_bytes(&field.schema, depth)?;
                }
                Ok(takes)
            }
            Schema::Ref { name } => match self.names.get(name) {
                Some(target) => self.takes_bytes(target, depth),
                None => Err("refers to a name that it does not define"),
            },
            _ => Ok(true),
        }
    }

    fn items(&mut self, items: &Schema, depth: usize) -> Result<bool, &'static str> {
        match self.takes_bytes(items, depth)? {
            true => Ok(true),
            false => Err("has an array whose items take no bytes"),
        }
    }
}
