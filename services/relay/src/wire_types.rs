//! Columns as Postgres sends them, without a detour: `xid8`, `json` as text, times as microseconds.

use std::error::Error;

use tidings_envelope::Micros;
use tokio_postgres::types::{FromSql, Type};

/// 2000-01-01, from which Postgres counts, in microseconds since the Unix epoch.
const POSTGRES_EPOCH_MICROS: i64 = 946_684_800_000_000;

/// A transaction id of 64 bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Xid(pub(crate) u64);

impl<'a> FromSql<'a> for Xid {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(u64::from_be_bytes(raw.try_into()?)))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::XID8
    }
}

/// The text of a `json` column, exactly as it was inserted.
#[derive(Debug)]
pub(crate) struct JsonText(pub(crate) String);

impl<'a> FromSql<'a> for JsonText {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(std::str::from_utf8(raw)?.to_owned()))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::JSON
    }
}

/// A `timestamptz`. `infinity` and what lies beyond 64 bits become the nearest number, which no envelope accepts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Time(pub(crate) Micros);

impl<'a> FromSql<'a> for Time {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let since_2000 = i64::from_be_bytes(raw.try_into()?);
        Ok(Self(Micros(
            since_2000.saturating_add(POSTGRES_EPOCH_MICROS),
        )))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::TIMESTAMPTZ
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_count_from_1970_and_infinity_is_no_time() {
        let time = |micros: i64| {
            Time::from_sql(&Type::TIMESTAMPTZ, &micros.to_be_bytes())
                .unwrap()
                .0
        };
        assert_eq!(time(0).to_string(), "2000-01-01T00:00:00Z");
        assert!(!time(i64::MAX).is_sane() && !time(i64::MIN).is_sane());
    }

    #[test]
    fn malformed_columns_are_errors() {
        assert!(Xid::from_sql(&Type::XID8, &[1, 2]).is_err());
        assert!(Time::from_sql(&Type::TIMESTAMPTZ, &[]).is_err());
        assert!(JsonText::from_sql(&Type::JSON, &[0xff]).is_err());
    }
}
