//! Wall times as microseconds since the Unix epoch.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A wall time: microseconds since the Unix epoch, UTC. Shown and parsed as RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub i64);

/// A text that is no time.
#[derive(Debug, Clone, thiserror::Error)]
#[error("not an RFC 3339 time with an offset, such as 2026-01-31T12:00:00Z")]
pub struct ParseMicrosError {
    source: jiff::Error,
}

impl Micros {
    /// 1970-01-01T00:00:00Z, the earliest time that an envelope may carry.
    pub const EARLIEST: Self = Self(0);
    /// 9999-12-30T22:00:00Z, the last second that RFC 3339 can write with any offset.
    pub const LATEST: Self = Self(253_402_207_200_000_000);

    /// Whether the time lies between [`Self::EARLIEST`] and [`Self::LATEST`].
    pub fn is_sane(self) -> bool {
        (Self::EARLIEST..=Self::LATEST).contains(&self)
    }
}

impl fmt::Display for Micros {
    /// RFC 3339 in UTC; a number outside the calendar is shown as `<n> µs`, so that this is total.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_microsecond(self.0) {
            Ok(time) => time.fmt(f),
            Err(_) => write!(f, "{} µs", self.0),
        }
    }
}

impl FromStr for Micros {
    type Err = ParseMicrosError;

    /// Parses RFC 3339 with any offset; digits beyond microseconds are cut.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let time: Timestamp = text.parse().map_err(|source| ParseMicrosError { source })?;
        Ok(Self(time.as_microsecond()))
    }
}

impl Serialize for Micros {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Micros {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_and_parses_rfc_3339_with_any_offset() {
        let noon: Micros = "2026-01-31T14:00:00.000001+02:00".parse().unwrap();
        assert_eq!(noon.to_string(), "2026-01-31T12:00:00.000001Z");
        assert_eq!(Micros::LATEST.to_string(), "9999-12-30T22:00:00Z");
        assert!(
            "2026-01-31T12:00:00".parse::<Micros>().is_err(),
            "no offset"
        );
        assert!("yesterday".parse::<Micros>().is_err());
    }

    #[test]
    fn every_number_can_be_shown() {
        for number in [i64::MIN, -1, 0, i64::MAX] {
            assert!(!Micros(number).to_string().is_empty());
        }
        assert!(!Micros(-1).is_sane());
        assert!(!Micros(i64::MAX).is_sane());
    }
}
