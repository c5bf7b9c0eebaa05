use std::fmt::{self, Display};
use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error as _};

/// At most `count` messages in any `period`; written `30/1s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowLimit {
    /// Messages.
    pub count: u32,
    /// In any stretch of this length.
    pub period: Duration,
}

/// Why a text is no window.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no window: write COUNT/PERIOD, such as 30/1s or 20/1m")]
pub struct WindowError(String);

impl FromStr for WindowLimit {
    type Err = WindowError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = text.split_once('/').and_then(|(count, period)| {
            let period = humantime_serde::re::humantime::parse_duration(period.trim()).ok()?;
            Some(Self {
                count: count.trim().parse().ok()?,
                period,
            })
        });
        parsed.ok_or_else(|| WindowError(text.chars().take(64).collect()))
    }
}

impl Display for WindowLimit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let period = humantime_serde::re::humantime::format_duration(self.period);
        write!(
            out,
            "{}/{}",
            self.count,
            period.to_string().replace(' ', "")
        )
    }
}

impl<'de> Deserialize<'de> for WindowLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_read_as_they_are_shown() {
        for (text, count, period_seconds) in
            [("30/1s", 30, 1), ("20/1m", 20, 60), ("5/1m 30s", 5, 90)]
        {
            let window: WindowLimit = text.parse().unwrap();
            assert_eq!(
                (window.count, window.period),
                (count, Duration::from_secs(period_seconds))
            );
            assert_eq!(window.to_string().parse(), Ok(window), "{text}");
        }
    }

    #[test]
    fn what_is_no_window_is_quoted_with_the_form() {
        for text in ["", "30", "30/", "/1s", "-1/1s", "30/1x", "1.5/1s"] {
            let error = text.parse::<WindowLimit>().unwrap_err();
            assert!(error.to_string().contains("COUNT/PERIOD"), "{text}");
        }
    }
}
