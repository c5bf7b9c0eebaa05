//! The answer table of reference/platforms.md for Telegram, row by row, and the senders' cases.

use std::time::Duration;

use tidings_platforms::telegram::classify;
use tidings_platforms::{Answer, Classified, DeadScope, HoldScope, Lost, NotSent, Verdict};

/// 2026-07-01T00:00:00Z.
const NOW_MICROS: i64 = 1_782_864_000_000_000;

fn answered(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Classified {
    let headers: Vec<(String, String)> = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    classify(
        &Answer::Response {
            status,
            headers: &headers,
            body,
        },
        NOW_MICROS,
    )
}

fn verdict(status: u16, body: &str) -> Verdict {
    answered(status, &[], body.as_bytes()).verdict
}

fn error(code: u16, description: &str) -> Verdict {
    verdict(
        code,
        &format!(r#"{{"ok":false,"error_code":{code},"description":"{description}"}}"#),
    )
}

fn throttled(scope: HoldScope, wait_seconds: impl Into<Option<f64>>) -> Verdict {
    let wait = wait_seconds.into().map(Duration::from_secs_f64);
    Verdict::Throttled { scope, wait }
}

fn dead(scope: DeadScope, reprobe: bool) -> Verdict {
    Verdict::DeadTarget { scope, reprobe }
}

fn delivered(id: &str) -> Verdict {
    Verdict::Delivered {
        platform_message_id: Some(id.to_owned()),
    }
}

const DELIVERED_WITHOUT_ID: Verdict = Verdict::Delivered {
    platform_message_id: None,
};

#[test]
fn ok_is_delivered_whatever_else_the_body_holds() {
    for (body, expected) in [
        (
            r#"{"ok":true,"result":{"message_id":42,"chat":{"id":7},"date":1,"text":"x"}}"#,
            delivered("42"),
        ),
        (
            r#"{"result":{"message_id":42},"ok":true,"new":{"deep":[1e999]}}"#,
            delivered("42"),
        ),
        (
            r#"{"ok":true,"result":{"message_id":"42"}}"#,
            delivered("42"),
        ),
        (
            "\u{feff} {\"ok\":true,\"result\":{\"message_id\":42}}\n",
            delivered("42"),
        ),
        (
            r#"{"ok":true,"result":{"message_id":9223372036854775807}}"#,
            delivered("9223372036854775807"),
        ),
        (
            r#"{"ok":true,"result":{"message_id":{}}}"#,
            DELIVERED_WITHOUT_ID,
        ),
        (r#"{"ok":true,"result":true}"#, DELIVERED_WITHOUT_ID),
        (r#"{"ok":true,"result":[42]}"#, DELIVERED_WITHOUT_ID),
        (
            r#"{"ok":true,"result":null,"error_code":"x","parameters":7,"description":[]}"#,
            DELIVERED_WITHOUT_ID,
        ),
        (r#"{"ok":true}"#, DELIVERED_WITHOUT_ID),
        (
            r#"{"ok":true,"result":{"message_id":42,"text":"cut in the mid"#,
            DELIVERED_WITHOUT_ID,
        ),
    ] {
        assert_eq!(verdict(200, body), expected, "{body}");
    }
    assert_eq!(
        answered(
            200,
            &[],
            b"{\"ok\":true,\"result\":{\"message_id\":42,\"text\":\"\xff\"}}"
        )
        .verdict,
        delivered("42")
    );
}

#[test]
fn success_without_the_apis_word_is_unknown() {
    for body in [
        "",
        "<html>Sign in</html>",
        "{}",
        "[]",
        "null",
        "true",
        "[true]",
        r#"{"ok":"true"}"#,
        r#"{"ok":null}"#,
        r#"{"ok":tr"#,
        "{\"ok\"",
    ] {
        assert_eq!(verdict(200, body), Verdict::Unknown, "{body}");
    }
    assert_eq!(verdict(204, ""), Verdict::Unknown);
    assert_eq!(answered(200, &[], &[0xff, 0xfe]).verdict, Verdict::Unknown);
    assert_eq!(
        verdict(502, r#"{"ok":true,"result":{"message_id":1}}"#),
        Verdict::Unknown,
        "the two contradict"
    );
    assert_eq!(
        verdict(200, r#"{"ok":false}"#),
        Verdict::Unrecognised,
        "a refusal in no words"
    );
}

#[test]
fn row_429_holds_for_its_hint() {
    let body = r#"{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 5","parameters":{"retry_after":5}}"#;
    assert_eq!(
        answered(429, &[("Retry-After", "5")], body.as_bytes()).verdict,
        throttled(HoldScope::Unnamed, 5.0)
    );
    assert_eq!(verdict(429, body), throttled(HoldScope::Unnamed, 5.0));
    assert_eq!(
        verdict(429, ""),
        throttled(HoldScope::Unnamed, None),
        "no hint: the policy's backoff"
    );
    assert_eq!(
        verdict(200, body),
        throttled(HoldScope::Unnamed, 5.0),
        "a proxy changed the status"
    );
}

#[test]
fn case_s1_429_without_parameters() {
    assert_eq!(
        error(429, "Too Many Requests: retry after 3"),
        throttled(HoldScope::Unnamed, 3.0)
    );
}

#[test]
fn case_s2_long_waits() {
    for seconds in [18_053, 10_072, 86_400] {
        let body =
            format!(r#"{{"ok":false,"error_code":429,"parameters":{{"retry_after":{seconds}}}}}"#);
        assert_eq!(
            verdict(429, &body),
            throttled(HoldScope::Unnamed, f64::from(seconds))
        );
    }
}

#[test]
fn case_s3_400_with_the_text_of_a_429() {
    assert_eq!(
        error(400, "Too Many Requests: retry after 15"),
        throttled(HoldScope::Unnamed, 15.0)
    );
    assert_eq!(
        error(400, "Bad Request: Too Many Requests: retry after 15"),
        throttled(HoldScope::Unnamed, 15.0)
    );
    assert_eq!(
        verdict(400, "Too Many Requests: retry after 15"),
        throttled(HoldScope::Unnamed, 15.0)
    );
    assert_eq!(
        error(
            500,
            "Internal Server Error: Too Many Requests: retry after 0"
        ),
        throttled(HoldScope::Unnamed, 1.0)
    );
}

#[test]
fn case_s8_migration_in_both_wordings() {
    for description in [
        "Bad Request: group chat was upgraded to a supergroup chat",
        "Bad Request: group chat is migrated to supergroup chat",
        "words of some later year",
    ] {
        for id in ["-1001557912345", r#""-1001557912345""#] {
            let body = format!(
                r#"{{"ok":false,"error_code":400,"description":"{description}","parameters":{{"migrate_to_chat_id":{id}}}}}"#
            );
            let expected = Verdict::Migrated {
                new_chat_id: "-1001557912345".to_owned(),
            };
            assert_eq!(verdict(400, &body), expected, "{body}");
        }
    }
    let nowhere = r#"{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":"x"}}"#;
    assert_eq!(verdict(400, nowhere), dead(DeadScope::Chat, false));
    assert_eq!(
        error(400, "group chat is migrated to supergroup chat"),
        dead(DeadScope::Chat, false)
    );
}

#[test]
fn rows_dead_target() {
    for (code, description) in [
        (403, "Forbidden: bot was blocked by the user"),
        (403, "Forbidden: user is deactivated"),
        (403, "Forbidden: bot was kicked from the group chat"),
        (403, "Forbidden: bot was kicked from the supergroup chat"),
        (403, "Forbidden: bot was kicked from the channel chat"),
        (403, "Forbidden: bot is not a member of the group chat"),
        (403, "Forbidden: bot is not a member of the supergroup chat"),
        (403, "Forbidden: bot is not a member of the channel chat"),
        (403, "Forbidden: the group chat was deleted"),
        (
            403,
            "Forbidden: bot can't initiate conversation with a user",
        ),
        (403, "Forbidden: bot can't send messages to bots"),
        (400, "Bad Request: chat not found"),
        (400, "Bad Request: PEER_ID_INVALID"),
    ] {
        assert_eq!(
            error(code, description),
            dead(DeadScope::Chat, false),
            "{description}"
        );
    }
}

#[test]
fn rows_dead_target_to_probe_again() {
    for (code, description) in [
        (
            400,
            "Bad Request: need administrator rights in the channel chat",
        ),
        (
            400,
            "Bad Request: not enough rights to send text messages to the chat",
        ),
        (400, "Bad Request: have no rights to send a message"),
        (400, "Bad Request: CHAT_WRITE_FORBIDDEN"),
        (400, "Bad Request: CHAT_RESTRICTED"),
        (403, "Forbidden: CHAT_WRITE_FORBIDDEN"),
    ] {
        assert_eq!(
            error(code, description),
            dead(DeadScope::Chat, true),
            "{description}"
        );
    }
}

#[test]
fn rows_dead_thread() {
    assert_eq!(
        error(400, "Bad Request: message thread not found"),
        dead(DeadScope::Thread, false)
    );
    assert_eq!(
        error(400, "Bad Request: TOPIC_DELETED"),
        dead(DeadScope::Thread, false)
    );
    assert_eq!(
        error(400, "Bad Request: TOPIC_CLOSED"),
        dead(DeadScope::Thread, true)
    );
}

#[test]
fn rows_rejected_and_case_s9() {
    for description in [
        "Bad Request: can't parse entities: Can't find end of the entity starting at byte offset 5",
        "Bad Request: message is too long",
        "Bad Request: text is too long",
        "Bad Request: message text is empty",
        "Bad Request: text must be non-empty",
        "Bad Request: message to be replied not found",
        "Bad Request: words that no rule knows",
    ] {
        assert_eq!(error(400, description), Verdict::Rejected, "{description}");
    }
    assert_eq!(error(422, "Unprocessable Entity"), Verdict::Rejected);
    assert_eq!(
        verdict(413, "<html>413 Request Entity Too Large</html>"),
        Verdict::Rejected
    );
}

#[test]
fn rows_account_broken() {
    assert_eq!(error(401, "Unauthorized"), Verdict::AuthBroken);
    assert_eq!(
        error(401, "Unauthorized: invalid token specified"),
        Verdict::AuthBroken
    );
    assert_eq!(error(404, "Not Found"), Verdict::AuthBroken);
    assert_eq!(
        error(421, "Misdirected Request: unallowed token specified"),
        Verdict::AuthBroken
    );
    assert_eq!(error(400, "Logged out"), Verdict::AuthBroken);
    assert_eq!(
        verdict(404, "<html>"),
        Verdict::AuthBroken,
        "a base address that is not the API's"
    );
}

#[test]
fn case_s11_a_blocked_user_answered_as_401() {
    assert_eq!(
        error(401, "Unauthorized: bot was blocked by the user"),
        dead(DeadScope::Chat, false)
    );
    assert_eq!(
        error(401, "Unauthorized: user is deactivated"),
        dead(DeadScope::Chat, false)
    );
}

#[test]
fn row_5xx_is_ambiguous_unless_it_says_that_nothing_was_done() {
    for status in [500, 502, 504, 520, 599] {
        assert_eq!(
            verdict(status, "<html><h1>Bad Gateway</h1></html>"),
            Verdict::Unknown,
            "{status}"
        );
        assert_eq!(
            error(status, "Internal Server Error: restart"),
            Verdict::Unknown,
            "{status}"
        );
    }
    assert_eq!(
        error(500, "Internal Server Error: chat not found"),
        Verdict::Unknown,
        "no word settles a 5xx"
    );
    for status in [408, 425, 503] {
        assert_eq!(verdict(status, "<html>"), Verdict::Transient, "{status}");
        let held = answered(status, &[("Retry-After", "9")], b"").verdict;
        assert_eq!(
            held,
            throttled(HoldScope::Unnamed, 9.0),
            "{status}: a hint holds on every path"
        );
    }
}

#[test]
fn case_s13_pages_and_front_ends() {
    let nginx = "<html>\r\n<head><title>502 Bad Gateway</title></head></html>";
    assert_eq!(verdict(502, nginx), Verdict::Unknown);
    assert_eq!(
        verdict(429, "<html>slow down</html>"),
        throttled(HoldScope::Address, None)
    );
    let held = answered(429, &[("Retry-After", "30")], b" <!DOCTYPE html>").verdict;
    assert_eq!(held, throttled(HoldScope::Address, 30.0));
    for status in [403, 429, 503] {
        assert_eq!(
            verdict(status, "error code: 1015"),
            throttled(HoldScope::Address, None),
            "{status}"
        );
    }
    assert_eq!(
        verdict(403, "<html>chat not found</html>"),
        Verdict::Unrecognised,
        "not the API's words"
    );
    assert_eq!(verdict(400, "<html>"), Verdict::Unrecognised);
}

#[test]
fn cases_s14_s15_s22_hints() {
    let float = r#"{"ok":false,"error_code":429,"parameters":{"retry_after":737.317}}"#;
    assert_eq!(verdict(429, float), throttled(HoldScope::Unnamed, 737.317));
    let both = r#"{"ok":false,"error_code":429,"parameters":{"retry_after":1163.097}}"#;
    assert_eq!(
        answered(429, &[("Retry-After", "1")], both.as_bytes()).verdict,
        throttled(HoldScope::Unnamed, 1_163.097)
    );
    assert_eq!(
        answered(429, &[("Retry-After", "2814, 2")], b"").verdict,
        throttled(HoldScope::Unnamed, 2_814.0)
    );
    for value in ["0", "Sun, 06 Nov 1994 08:49:37 GMT"] {
        assert_eq!(
            answered(429, &[("Retry-After", value)], b"").verdict,
            throttled(HoldScope::Unnamed, 1.0),
            "{value}"
        );
    }
}

#[test]
fn other_statuses_are_unrecognised() {
    for status in [
        301,
        302,
        307,
        402,
        405,
        406,
        409,
        410,
        415,
        451,
        0,
        100,
        600,
        u16::MAX,
    ] {
        assert_eq!(verdict(status, ""), Verdict::Unrecognised, "{status}");
    }
    assert_eq!(
        error(403, "Forbidden: a reason of some later year"),
        Verdict::Unrecognised
    );
}

#[test]
fn what_was_not_sent_is_transient_and_case_s4_what_was_lost_is_unknown() {
    for cause in [NotSent::Dns, NotSent::Connect, NotSent::Tls, NotSent::Pool] {
        assert_eq!(
            classify(&Answer::NotSent(cause), NOW_MICROS).verdict,
            Verdict::Transient,
            "{cause}"
        );
    }
    for cause in [
        Lost::Timeout,
        Lost::Reset,
        Lost::Closed,
        Lost::Protocol,
        Lost::TooLarge,
    ] {
        assert_eq!(
            classify(&Answer::Lost(cause), NOW_MICROS).verdict,
            Verdict::Unknown,
            "{cause}"
        );
    }
}

#[test]
fn reasons_say_what_was_answered_and_no_secret() {
    let reason = |status, body: &str| answered(status, &[], body.as_bytes()).reason;
    assert_eq!(
        reason(
            403,
            r#"{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}"#
        ),
        "HTTP 403: Forbidden: bot was blocked by the user"
    );
    assert_eq!(
        reason(200, r#"{"ok":false,"error_code":400,"description":"x"}"#),
        "HTTP 200, error_code 400: x"
    );
    let page = format!("<html>{}</html>", "y".repeat(100_000));
    assert!(reason(502, &page).len() < 300);
    let long = format!(
        r#"{{"ok":false,"error_code":400,"description":"{}"}}"#,
        "é".repeat(100_000)
    );
    assert_eq!(reason(400, &long).chars().count(), 2_000);
    let quoting =
        "<html>no route for /bot123456:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/sendMessage</html>";
    assert!(!reason(404, quoting).contains("AAHdq"));
}

/// No answer panics: every status with every kind of body, cut anywhere.
#[test]
fn any_answer_gets_a_verdict() {
    let bodies = [
        r#"{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 5","parameters":{"retry_after":5}}"#,
        r#"{"ok":true,"result":{"message_id":42,"chat":{"id":-7},"text":"é😀"}}"#,
        r#"{"ok":false,"error_code":70000,"description":7,"parameters":{"migrate_to_chat_id":1e5}}"#,
    ];
    for body in bodies {
        for end in 0..=body.len() {
            for status in [0, 200, 400, 403, 429, 500, 503, 999] {
                let classified = answered(status, &[("retry-after", "x")], &body.as_bytes()[..end]);
                assert!(!classified.verdict.name().is_empty());
            }
        }
    }
    let nested = "[".repeat(200_000);
    assert_eq!(verdict(200, &nested), Verdict::Unknown);
}
