//! HTTP-dates in their three forms: `Sun, 06 Nov 1994 08:49:37 GMT`, RFC 850's `Sunday, 06-Nov-94 08:49:37 GMT`
//! and asctime's `Sun Nov  6 08:49:37 1994`.
//!
//! In each the weekday comes first, the day before the year, and the month is a word, so one reader of words serves
//! all three. The weekday is not compared with the date: it adds nothing that a wait depends on.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/// A two-digit year more than this far ahead is of the century before (RFC 9110).
const MAX_YEARS_AHEAD: i16 = 50;

/// The moment that `text` names, in microseconds since the Unix epoch. `now_micros` only places two-digit years.
pub(super) fn parse_micros(text: &str, now_micros: i64) -> Option<i64> {
    let mut words = text
        .split(|c: char| c.is_whitespace() || c == ',' || c == '-')
        .filter(|word| !word.is_empty());
    words.next().filter(|word| is_weekday(word))?;
    let rest: Vec<&str> = words.collect();
    let (date, time) = match rest.as_slice() {
        [day, month, year, time, zone] if is_utc(zone) => {
            (date(year, month, day, now_micros)?, time)
        }
        [month, day, time, year] => (date(year, month, day, now_micros)?, time),
        _ => return None,
    };
    micros(DateTime::from_parts(date, clock_time(time)?))
}

fn is_weekday(word: &str) -> bool {
    prefix(word).is_some_and(|prefix| WEEKDAYS.contains(&prefix.as_str()))
}

fn is_utc(zone: &str) -> bool {
    ["GMT", "UTC"]
        .iter()
        .any(|name| zone.eq_ignore_ascii_case(name))
}

/// The first three letters of a word of letters, in lower case.
fn prefix(word: &str) -> Option<String> {
    let letters = word.chars().all(|c| c.is_ascii_alphabetic());
    letters
        .then(|| word.get(..3).map(str::to_ascii_lowercase))
        .flatten()
}

fn date(year: &str, month: &str, day: &str, now_micros: i64) -> Option<Date> {
    let prefix = prefix(month)?;
    let month = MONTHS.iter().position(|name| *name == prefix)? + 1;
    Date::new(
        full_year(year, now_micros)?,
        i8::try_from(month).ok()?,
        number(day)?,
    )
    .ok()
}

fn full_year(year: &str, now_micros: i64) -> Option<i16> {
    if year.len() == 4 {
        return number(year);
    }
    let short: i16 = number(year).filter(|_| year.len() == 2)?;
    let now = jiff::Timestamp::from_microsecond(now_micros).ok()?;
    let this_year = now.to_zoned(TimeZone::UTC).year();
    let ahead = this_year - this_year.rem_euclid(100) + short;
    Some(if ahead > this_year + MAX_YEARS_AHEAD {
        ahead - 100
    } else {
        ahead
    })
}

/// `hh:mm:ss`; a leap second counts as the second before it.
fn clock_time(text: &str) -> Option<Time> {
    let mut parts = text.split(':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    let second: i8 = number(second)?;
    let second = if second == 60 { 59 } else { second };
    let complete = parts.next().is_none();
    complete
        .then(|| Time::new(number(hour)?, number(minute)?, second, 0).ok())
        .flatten()
}

/// A number of digits only.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let digits = text.chars().all(|c| c.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

fn micros(moment: DateTime) -> Option<i64> {
    let epoch = jiff::civil::date(1970, 1, 1).at(0, 0, 0, 0);
    i64::try_from(moment.duration_since(epoch).as_micros()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-07-01T00:00:00Z.
    const NOW_MICROS: i64 = 1_782_864_000_000_000;
    /// 1994-11-06T08:49:37Z.
    const EXAMPLE_MICROS: i64 = 784_111_777_000_000;

    #[test]
    fn all_three_forms_name_the_same_moment() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "sun, 06 nov 1994 08:49:37 utc",
        ] {
            assert_eq!(
                parse_micros(text, NOW_MICROS),
                Some(EXAMPLE_MICROS),
                "{text}"
            );
        }
    }

    #[test]
    fn leap_second_and_century() {
        let leap = parse_micros("Sun, 06 Nov 1994 08:49:60 GMT", NOW_MICROS);
        assert_eq!(leap, Some(EXAMPLE_MICROS + 22_000_000));
        let ahead = parse_micros("Friday, 06-Nov-76 08:49:37 GMT", NOW_MICROS);
        assert!(ahead > Some(NOW_MICROS), "50 years ahead is this century");
        let behind = parse_micros("Sunday, 06-Nov-77 08:49:37 GMT", NOW_MICROS);
        assert!(
            behind < Some(NOW_MICROS),
            "51 years ahead is the century before"
        );
    }

    #[test]
    fn anything_else_is_no_date() {
        for text in [
            "",
            "5",
            "Sun",
            "Sun, 06 Nov",
            "Sun, 31 Feb 2026 00:00:00 GMT",
            "Sun, 06 Nov 1994 25:00:00 GMT",
            "Sun, 06 Nov 1994 08:49:37 PST",
            "Sun, 06 Nov 1994 08:49:37:00 GMT",
            "Sun, 06 Nov 199 08:49:37 GMT",
            "Sun, 99999999999 Nov 1994 08:49:37 GMT",
            "Día, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nóv 1994 08:49:37 GMT",
            "06 Nov 1994 08:49:37 GMT",
            ",,,,-----",
        ] {
            assert_eq!(parse_micros(text, NOW_MICROS), None, "{text}");
        }
        assert_eq!(
            parse_micros("Sunday, 06-Nov-94 08:49:37 GMT", i64::MAX),
            None
        );
    }
}
