//! The part of Avro that event data may use, prepared for writing and reading.
//!
//! A closed and finite set on purpose: no maps (free keys could carry anything), no raw bytes
//! (claim checks carry content), no recursion (depth is bounded by the schema).

use crate::decimal::DecimalShape;
use apache_avro::Schema;
use apache_avro::schema::{
    DecimalSchema, EnumSchema, InnerDecimalSchema, NamesRef, RecordField, RecordSchema,
    ResolvedSchema, UnionSchema, UuidSchema,
};
use serde_json::Value as Json;

/// Nesting that a data schema may have.
const MAX_DEPTH: usize = 16;

#[derive(Debug, Clone)]
pub(crate) enum Shape {
    Boolean,
    Int,
    Long,
    Double,
    String,
    Uuid,
    Timestamp,
    Decimal(DecimalShape),
    Enum(EnumShape),
    Array(Box<Shape>),
    Record(RecordShape),
    /// The union `["null", X]`.
    Optional(Box<Shape>),
}

#[derive(Debug, Clone)]
pub(crate) struct EnumShape {
    /// Without its namespace.
    pub(crate) name: String,
    pub(crate) symbols: Vec<String>,
    pub(crate) default: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct RecordShape {
    /// Without its namespace.
    pub(crate) name: String,
    pub(crate) fields: Vec<FieldShape>,
}

#[derive(Debug, Clone)]
pub(crate) struct FieldShape {
    pub(crate) name: String,
    pub(crate) shape: Shape,
    /// The value of a message that lacks the field, as JSON that [`Shape`] itself accepts.
    pub(crate) default: Option<Json>,
}

/// Why a schema cannot carry event data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub(crate) struct ShapeError {
    pub(crate) field: String,
    pub(crate) problem: &'static str,
}

impl RecordShape {
    /// The shape of a record schema.
    pub(crate) fn of(record: &Schema, root: &str) -> Result<Self, ShapeError> {
        let refused = |problem| ShapeError {
            field: root.to_owned(),
            problem,
        };
        let resolved =
            ResolvedSchema::new(record).map_err(|_| refused("a name in it is not defined"))?;
        let builder = Builder {
            names: resolved.get_names(),
        };
        match builder.shape(record, root, MAX_DEPTH)? {
            Shape::Record(shape) => Ok(shape),
            Shape::Boolean
            | Shape::Int
            | Shape::Long
            | Shape::Double
            | Shape::String
            | Shape::Uuid
            | Shape::Timestamp
            | Shape::Decimal(_)
            | Shape::Enum(_)
            | Shape::Array(_)
            | Shape::Optional(_) => Err(refused("must be a record")),
        }
    }

    pub(crate) fn field(&self, name: &str) -> Option<&FieldShape> {
        self.fields.iter().find(|field| field.name == name)
    }
}

struct Builder<'s> {
    names: &'s NamesRef<'s>,
}

impl Builder<'_> {
    // Avro's enum is not ours and grows; whatever is not listed is refused.
    #[allow(clippy::wildcard_enum_match_arm)]
    fn shape(&self, schema: &Schema, at: &str, depth: usize) -> Result<Shape, ShapeError> {
        let refused = |problem| {
            Err(ShapeError {
                field: at.to_owned(),
                problem,
            })
        };
        let Some(depth) = depth.checked_sub(1) else {
            return refused("is nested too deeply or inside itself");
        };
        Ok(match schema {
            Schema::Boolean => Shape::Boolean,
            Schema::Int => Shape::Int,
            Schema::Long => Shape::Long,
            Schema::Double => Shape::Double,
            Schema::String => Shape::String,
            Schema::Uuid(UuidSchema::String) => Shape::Uuid,
            Schema::TimestampMicros => Shape::Timestamp,
            Schema::Decimal(decimal) => Shape::Decimal(decimal_shape(decimal, at)?),
            Schema::Enum(symbols) => Shape::Enum(enum_shape(symbols, at)?),
            Schema::Array(array) => Shape::Array(Box::new(self.shape(
                &array.items,
                &format!("{at}[]"),
                depth,
            )?)),
            Schema::Record(record) => Shape::Record(self.record(record, at, depth)?),
            Schema::Union(union) => Shape::Optional(Box::new(self.optional(union, at, depth)?)),
            Schema::Ref { name } => match self.names.get(name) {
                Some(target) => return self.shape(target, at, depth),
                None => return refused("refers to a name that is not defined"),
            },
            _ => {
                return refused(
                    "has a type that data may not use; use boolean, int, long, double, string, uuid, \
                     timestamp-micros, decimal on bytes, enum, array, record, or [\"null\", one of these]",
                );
            }
        })
    }

    fn record(
        &self,
        record: &RecordSchema,
        at: &str,
        depth: usize,
    ) -> Result<RecordShape, ShapeError> {
        let fields = record
            .fields
            .iter()
            .map(|field| self.field(field, at, depth));
        Ok(RecordShape {
            name: record.name.name().to_owned(),
            fields: fields.collect::<Result<_, _>>()?,
        })
    }

    fn field(&self, field: &RecordField, at: &str, depth: usize) -> Result<FieldShape, ShapeError> {
        let at = format!("{at}.{}", field.name);
        let shape = self.shape(&field.schema, &at, depth)?;
        if let Some(problem) = field
            .default
            .as_ref()
            .and_then(|json| refuse_default(&shape, json))
        {
            return Err(ShapeError { field: at, problem });
        }
        Ok(FieldShape {
            name: field.name.clone(),
            shape,
            default: field.default.clone(),
        })
    }

    fn optional(&self, union: &UnionSchema, at: &str, depth: usize) -> Result<Shape, ShapeError> {
        match union.variants() {
            [Schema::Null, inner] if !matches!(inner, Schema::Union(_)) => {
                self.shape(inner, at, depth)
            }
            _ => Err(ShapeError {
                field: at.to_owned(),
                problem: "must be a union of exactly \"null\" first and one other type",
            }),
        }
    }
}

fn decimal_shape(decimal: &DecimalSchema, at: &str) -> Result<DecimalShape, ShapeError> {
    let refused = |problem| ShapeError {
        field: at.to_owned(),
        problem,
    };
    if !matches!(decimal.inner, InnerDecimalSchema::Bytes) {
        return Err(refused("must be a decimal on bytes, not on fixed"));
    }
    DecimalShape::new(decimal.precision, decimal.scale)
        .ok_or_else(|| refused("must have a precision of 1 to 38 and a scale up to it"))
}

fn enum_shape(schema: &EnumSchema, at: &str) -> Result<EnumShape, ShapeError> {
    if schema.default.is_none() {
        return Err(ShapeError {
            field: at.to_owned(),
            problem: "needs an enum default, so that a reader survives a symbol added later",
        });
    }
    Ok(EnumShape {
        name: schema.name.name().to_owned(),
        symbols: schema.symbols.clone(),
        default: schema.default.clone(),
    })
}

/// Defaults are kept to those whose Avro spelling and JSON spelling are one.
fn refuse_default(shape: &Shape, default: &Json) -> Option<&'static str> {
    let fits = match shape {
        Shape::Optional(_) => default.is_null(),
        Shape::Boolean => default.is_boolean(),
        Shape::Int | Shape::Long => default.is_i64(),
        Shape::String => default.is_string(),
        Shape::Enum(choice) => default
            .as_str()
            .is_some_and(|word| choice.symbols.iter().any(|s| s == word)),
        Shape::Array(_) => default.as_array().is_some_and(Vec::is_empty),
        Shape::Double | Shape::Uuid | Shape::Timestamp | Shape::Decimal(_) | Shape::Record(_) => {
            false
        }
    };
    (!fits).then_some(
        "has a default that its type may not have; make it [\"null\", ...] with default null",
    )
}
