//! Single values out of JSON text, exact or refused.

use super::avro::write_bytes;
use super::json::{invalid_json, wanted, wrong_type};
use crate::decimal::{DecimalFault, DecimalShape};
use crate::path::Path;
use crate::rejection::{Rejection, RejectionCode, capped, nearest};
use crate::shape::{EnumShape, Shape};
use crate::{Micros, ParseMicrosError};
use std::borrow::Cow;
use uuid::Uuid;

/// The least number taken for microseconds (March 1973): seconds and milliseconds of our days are
/// smaller, nanoseconds larger than [`Micros::LATEST`].
const EARLIEST_NUMBER: Micros = Micros(100_000_000_000_000);

/// A whole number inside a range.
pub(super) fn integer(
    shape: &Shape,
    text: &str,
    range: std::ops::RangeInclusive<i64>,
    at: &Path<'_>,
) -> Result<i64, Rejection> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong_type(wanted(shape), text, at));
    }
    text.parse()
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            out_of_range(
                at,
                format!(
                    "{} is not between {} and {}",
                    shown(text),
                    range.start(),
                    range.end()
                ),
                "publish a number inside that range, or have the field widened in a new version",
            )
        })
}

/// A finite number.
pub(super) fn double(text: &str, at: &Path<'_>) -> Result<f64, Rejection> {
    if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return Err(wrong_type(wanted(&Shape::Double), text, at));
    }
    let number: Option<f64> = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| {
        out_of_range(
            at,
            format!("{} is beyond a double", shown(text)),
            "publish a smaller number",
        )
    })
}

/// Appends a decimal from a JSON number or string.
pub(super) fn write_decimal(
    decimal: DecimalShape,
    text: &str,
    at: &Path<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Rejection> {
    let shape = Shape::Decimal(decimal);
    let number = if text.starts_with('"') {
        string(&shape, text, at)?
    } else {
        Cow::Borrowed(text)
    };
    let unscaled = decimal.parse(&number).map_err(|fault| match fault {
        DecimalFault::NoNumber => wrong_type(wanted(&shape), text, at),
        DecimalFault::TooManyDecimals => out_of_range(
            at,
            format!(
                "{} has more than {} decimals",
                shown(&number),
                decimal.scale()
            ),
            "round it before it is published",
        ),
        DecimalFault::TooLarge => out_of_range(
            at,
            format!(
                "{} has more than {} digits before the point",
                shown(&number),
                decimal.whole_digits()
            ),
            "check its unit",
        ),
    })?;
    let mut bytes = Vec::with_capacity(16);
    decimal.bytes(unscaled, &mut bytes);
    write_bytes(&bytes, out);
    Ok(())
}

/// A time as RFC 3339 or as microseconds.
pub(super) fn timestamp(text: &str, at: &Path<'_>) -> Result<Micros, Rejection> {
    let (time, earliest) = if text.starts_with('"') {
        (rfc_3339(text, at)?, Micros::EARLIEST)
    } else {
        let micros = integer(&Shape::Timestamp, text, i64::MIN..=i64::MAX, at)?;
        (Micros(micros), EARLIEST_NUMBER)
    };
    if !(earliest..=Micros::LATEST).contains(&time) {
        return Err(out_of_range(
            at,
            format!(
                "{} is not between {earliest} and {}",
                shown(text),
                Micros::LATEST
            ),
            "publish RFC 3339, or microseconds (not seconds, milliseconds or nanoseconds) since 1970",
        ));
    }
    Ok(time)
}

fn rfc_3339(text: &str, at: &Path<'_>) -> Result<Micros, Rejection> {
    string(&Shape::Timestamp, text, at)?
        .parse()
        .map_err(|error: ParseMicrosError| {
            Rejection::new(
                RejectionCode::WrongType,
                at,
                format!("is {error}"),
                format!("publish {}", wanted(&Shape::Timestamp)),
            )
        })
}

/// A UUID in any of its spellings.
pub(super) fn uuid(text: &str, at: &Path<'_>) -> Result<Uuid, Rejection> {
    let word = string(&Shape::Uuid, text, at)?;
    Uuid::parse_str(&word).map_err(|_| {
        Rejection::new(
            RejectionCode::WrongType,
            at,
            "is not a UUID",
            "publish 32 hexadecimal digits with hyphens",
        )
    })
}

/// The position of an enum's symbol.
pub(super) fn symbol(choice: &EnumShape, text: &str, at: &Path<'_>) -> Result<usize, Rejection> {
    let shape = Shape::String;
    let word = string(&shape, text, at)?;
    let symbols = choice.symbols.iter().map(String::as_str);
    symbols
        .clone()
        .position(|symbol| symbol == word)
        .ok_or_else(|| {
            let allowed = symbols.clone().collect::<Vec<_>>().join(", ");
            let remedy = match nearest(&word.to_uppercase(), symbols) {
                Some(near) => format!("did you mean {near}? Allowed: {allowed}"),
                None => format!("use one of {allowed}"),
            };
            let problem = format!("{} is not one of its values", shown(&word));
            Rejection::new(RejectionCode::UnknownEnum, at, problem, remedy)
        })
}

/// The text inside a JSON string, borrowed unless it has escapes.
pub(super) fn string<'j>(
    shape: &Shape,
    text: &'j str,
    at: &Path<'_>,
) -> Result<Cow<'j, str>, Rejection> {
    let Some(inner) = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    else {
        return Err(wrong_type(wanted(shape), text, at));
    };
    if !inner.contains('\\') {
        return Ok(Cow::Borrowed(inner));
    }
    serde_json::from_str(text)
        .map(Cow::Owned)
        .map_err(|error| invalid_json(&error, at))
}

fn out_of_range(at: &Path<'_>, problem: String, remedy: &str) -> Rejection {
    Rejection::new(RejectionCode::OutOfRange, at, problem, remedy)
}

/// A number or enum value, short enough for a reason.
fn shown(text: &str) -> String {
    capped(text.to_owned(), 64)
}
