//! Every value of reference/platforms.md, "Retry-After: values that a parser meets", and the cases that name a hint.

use std::time::Duration;

use tidings_platforms::HintLimits;
use tidings_platforms::retry_after::longest;

/// 2026-07-01T00:00:00Z, a Wednesday.
const NOW_MICROS: i64 = 1_782_864_000_000_000;
const FLOOR: Option<f64> = Some(1.0);
const CAP: Option<f64> = Some(14.0 * 86_400.0);

fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn hint(pairs: &[(&str, &str)], body: &str) -> Option<f64> {
    longest(&headers(pairs), body, NOW_MICROS, HintLimits::default()).map(|wait| wait.as_secs_f64())
}

#[test]
fn one_header_value() {
    let huge_number = "9".repeat(400);
    let endless_number = "9".repeat(100_000);
    for (value, expected) in [
        ("0", FLOOR),
        ("-1", FLOOR),
        ("5", Some(5.0)),
        ("05", Some(5.0)),
        (" 5 ", Some(5.0)),
        ("1.5", Some(1.5)),
        ("64.57", Some(64.57)),
        ("737.317", Some(737.317)),
        ("18053", Some(18_053.0)),
        ("10072", Some(10_072.0)),
        ("70000", Some(70_000.0)),
        ("86400", Some(86_400.0)),
        ("1209600", CAP),
        ("1209601", CAP),
        ("1e300", CAP),
        ("1e400", CAP),
        ("-1e400", FLOOR),
        (huge_number.as_str(), CAP),
        (endless_number.as_str(), CAP),
        ("inf", None),
        ("-inf", None),
        ("infinity", None),
        ("NaN", None),
        ("", None),
        (" ", None),
        ("soon", None),
        ("5s", None),
        ("0x10", None),
        ("٥", None),
        ("2814, 2", Some(2_814.0)),
        ("2, 2814", Some(2_814.0)),
        (",,5,", Some(5.0)),
        ("Wed, 01 Jul 2026 00:02:00 GMT", Some(120.0)),
        ("Wednesday, 01-Jul-26 00:02:00 GMT", Some(120.0)),
        ("Wed Jul  1 00:02:00 2026", Some(120.0)),
        ("Wed, 01 Jul 2026 00:02:00 GMT, 300", Some(300.0)),
        ("2, Wed, 01 Jul 2026 00:02:00 GMT", Some(120.0)),
        (
            "Wed, 01 Jul 2026 00:02:00 GMT, Wed, 01 Jul 2026 00:03:00 GMT",
            Some(180.0),
        ),
        ("Sun, 06 Nov 1994 08:49:37 GMT", FLOOR),
        ("Sunday, 06-Nov-94 08:49:37 GMT", FLOOR),
        ("Sun Nov  6 08:49:37 1994", FLOOR),
        ("Fri, 31 Dec 9999 23:59:59 GMT", CAP),
        ("Wed, 32 Jul 2026 00:02:00 GMT", None),
    ] {
        let shown: String = value.chars().take(60).collect();
        assert_eq!(hint(&[("Retry-After", value)], ""), expected, "{shown:?}");
    }
}

#[test]
fn headers_and_body_together() {
    for (pairs, body, expected) in [
        (&[][..], "", None),
        (&[("Retry-After", "2"), ("retry-after", "7")], "", Some(7.0)),
        (
            &[("RETRY-AFTER", "1")],
            r#"{"retry_after":1163.097}"#,
            Some(1_163.097),
        ),
        (
            &[
                ("Retry-After", "1337"),
                ("X-RateLimit-Reset-After", "64.57"),
            ],
            "",
            Some(1_337.0),
        ),
        (
            &[("Retry-After", "1"), ("X-RateLimit-Reset-After", "64.57")],
            "",
            Some(64.57),
        ),
        (&[("Retry-After", "inf")], r#"{"retry_after":3}"#, Some(3.0)),
        (
            &[("Retry-After", "0")],
            r#"{"parameters":{"retry_after":0}}"#,
            FLOOR,
        ),
        (&[("X-Other", "99")], "<html>", None),
    ] {
        assert_eq!(hint(pairs, body), expected, "{pairs:?} {body}");
    }
}

#[test]
fn one_body() {
    let endless = format!("{}retry after 5", " ".repeat(1_000_000));
    for (body, expected) in [
        (r#"{"retry_after":"5"}"#, Some(5.0)),
        (r#"{"retry_after":5}"#, Some(5.0)),
        (r#"{"retry_after":64.57,"global":false}"#, Some(64.57)),
        (r#"{"parameters":{"retry_after":0}}"#, FLOOR),
        (r#"{"parameters":{"retry_after":18053}}"#, Some(18_053.0)),
        (
            r#"{"retry_after":2,"parameters":{"retry_after":3}}"#,
            Some(3.0),
        ),
        (r#"{"retry_after":1e400}"#, CAP),
        (r#"{"retry_after":-3}"#, FLOOR),
        (r#"{"retry_after":null}"#, None),
        (r#"{"retry_after":true}"#, None),
        (r#"{"retry_after":[5]}"#, None),
        (r#"{"retry_after":NaN}"#, None),
        (r#"{"parameters":[]}"#, None),
        (r#"{"parameters":[5]}"#, None),
        ("[5]", None),
        (r#"{"parameters":7}"#, None),
        (
            r#"{"ok":false,"description":"Too Many Requests: retry after 3"}"#,
            Some(3.0),
        ),
        ("Too Many Requests: retry after 15", Some(15.0)),
        ("Retry after 5.", Some(5.0)),
        ("retry after: 7", Some(7.0)),
        ("retry after 5e", Some(5.0)),
        ("retry after -5", FLOOR),
        ("retry after 1e999", CAP),
        ("retry after", None),
        ("retry after a while", None),
        ("retry after é5", None),
        ("retry after 2, or retry after 9", Some(9.0)),
        ("FLOOD_WAIT_31", Some(31.0)),
        ("<html>", None),
        ("error code: 1015", None),
        ("", None),
        (endless.as_str(), None),
    ] {
        let shown: String = body.trim_start().chars().take(60).collect();
        assert_eq!(hint(&[], body), expected, "{shown:?}");
    }
}

/// Requirement L12: our clock is an hour wrong, the server's two times agree with each other.
#[test]
fn a_date_is_measured_from_the_servers_own_clock() {
    let pairs = [
        ("Date", "Wed, 01 Jul 2026 01:00:00 GMT"),
        ("Retry-After", "Wed, 01 Jul 2026 01:00:30 GMT"),
    ];
    assert_eq!(hint(&pairs, ""), Some(30.0));
    let unreadable = [
        ("Date", "yesterday"),
        ("Retry-After", "Wed, 01 Jul 2026 00:00:30 GMT"),
    ];
    assert_eq!(hint(&unreadable, ""), Some(30.0));
}

#[test]
fn limits_are_the_callers() {
    let limits = HintLimits {
        floor: Duration::from_secs(2),
        cap: Duration::from_secs(60),
    };
    for (value, expected) in [("1", 2), ("30", 30), ("61", 60), ("1e300", 60)] {
        let wait = longest(&headers(&[("retry-after", value)]), "", NOW_MICROS, limits);
        assert_eq!(wait, Some(Duration::from_secs(expected)), "{value}");
    }
}

#[test]
fn no_time_of_ours_panics() {
    for now_micros in [i64::MIN, -1, 0, i64::MAX] {
        for value in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "5",
        ] {
            let wait = longest(
                &headers(&[("retry-after", value)]),
                "",
                now_micros,
                HintLimits::default(),
            );
            assert!(wait.is_none_or(|wait| wait >= Duration::from_secs(1)));
        }
    }
}
