//! What is asked of Telegram, and what is refused before asking.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use tidings_platforms::{HttpRequest, Outgoing, ParseMode, Refusal, Secret, Verdict, telegram};

const BASE_URL: &str = "https://api.telegram.org";
const TOKEN: &str = "123456:AAH-secret_key";

fn outgoing<'a>(chat_id: &'a str, text: &'a str) -> Outgoing<'a> {
    Outgoing {
        chat_id,
        thread_id: None,
        text,
        parse_mode: None,
    }
}

fn request(outgoing: &Outgoing<'_>) -> Result<HttpRequest, Refusal> {
    telegram::request(BASE_URL, &Secret::new(TOKEN), outgoing)
}

fn body(request: &HttpRequest) -> Value {
    serde_json::from_slice(&request.body).expect("the body is JSON")
}

#[test]
fn a_whole_message() {
    let outgoing = Outgoing {
        chat_id: "-1001087453541",
        thread_id: Some("77"),
        text: "<b>é</b> \u{0} \"quoted\"",
        parse_mode: Some(ParseMode::Html),
    };
    let request = request(&outgoing).expect("valid");
    assert_eq!(request.method.as_str(), "POST");
    assert_eq!(
        request.url.expose(),
        "https://api.telegram.org/bot123456:AAH-secret_key/sendMessage"
    );
    assert_eq!(
        request.headers,
        [("content-type".to_owned(), "application/json".to_owned())]
    );
    let expected = json!({
        "chat_id": -1_001_087_453_541_i64,
        "message_thread_id": 77,
        "text": "<b>é</b> \u{0} \"quoted\"",
        "parse_mode": "HTML",
    });
    assert_eq!(body(&request), expected);
}

#[test]
fn case_s12_chat_ids() {
    for (chat_id, expected) in [
        ("7", json!(7)),
        ("-7", json!(-7)),
        ("-1001087453541", json!(-1_001_087_453_541_i64)),
        ("9223372036854775807", json!(i64::MAX)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("@channelname", json!("@channelname")),
        ("@A_1", json!("@A_1")),
    ] {
        assert_eq!(
            body(&request(&outgoing(chat_id, "x")).expect(chat_id))["chat_id"],
            expected
        );
    }
}

#[test]
fn chat_ids_of_no_form_are_refused() {
    for chat_id in [
        "",
        "0",
        "-0",
        "05",
        "+5",
        " 5",
        "5 ",
        "5.0",
        "1e3",
        "9223372036854775808",
        "channelname",
        "@",
        "@a b",
        "@é",
        "@@a",
        "@a/../b",
        "٥",
        "-",
        "--5",
    ] {
        let refusal = request(&outgoing(chat_id, "x")).expect_err(chat_id);
        assert_eq!(refusal.field(), "chat_id", "{chat_id}");
        assert!(refusal.to_string().contains("destination"), "{refusal}");
        assert_eq!(refusal.classified().verdict, Verdict::Rejected);
    }
}

#[test]
fn thread_ids() {
    let with_thread = |thread_id| Outgoing {
        thread_id: Some(thread_id),
        ..outgoing("7", "x")
    };
    assert_eq!(
        body(&request(&with_thread("12")).unwrap())["message_thread_id"],
        json!(12)
    );
    for thread_id in ["", "0", "-1", "01", "x", "99999999999999999999"] {
        let refusal = request(&with_thread(thread_id)).expect_err(thread_id);
        assert_eq!(refusal.field(), "thread_id", "{thread_id}");
    }
}

#[test]
fn case_s10_text_is_counted_in_code_points() {
    let accepted = ["x".repeat(4_096), "😀".repeat(4_096), "é".repeat(4_096)];
    for text in &accepted {
        assert!(
            request(&outgoing("7", text)).is_ok(),
            "{} bytes",
            text.len()
        );
    }
    let refusal = request(&outgoing("7", &"😀".repeat(5_000))).expect_err("5,000 emoji");
    assert_eq!(
        refusal,
        Refusal::TextTooLong {
            chars: 5_000,
            limit: 4_096
        }
    );
    for text in ["", " ", "\n\t"] {
        assert_eq!(request(&outgoing("7", text)), Err(Refusal::TextEmpty));
    }
}

/// 4,096 `!` are 8,192 characters once escaped, and Telegram takes them: it counts after parsing.
#[test]
fn case_s10_markup_is_not_counted() {
    let escaped = "\\!".repeat(4_096);
    let with_mode = |text| Outgoing {
        parse_mode: Some(ParseMode::MarkdownV2),
        ..outgoing("7", text)
    };
    assert!(request(&with_mode(&escaped)).is_ok());
    let largest = "x".repeat(32_768);
    assert!(request(&with_mode(&largest)).is_ok());
    let too_large = "x".repeat(32_769);
    assert_eq!(
        request(&with_mode(&too_large)),
        Err(Refusal::TextTooLarge {
            bytes: 32_769,
            limit: 32_768
        })
    );
}

#[test]
fn parse_modes_are_read_as_telegram_reads_them() {
    for (name, expected) in [
        ("HTML", "HTML"),
        ("html", "HTML"),
        ("markdownv2", "MarkdownV2"),
        ("MARKDOWN", "Markdown"),
    ] {
        assert_eq!(ParseMode::from_name(name).expect(name).as_str(), expected);
    }
    for name in ["", "none", "text", "HTML "] {
        assert_eq!(
            ParseMode::from_name(name).expect_err(name).field(),
            "parse_mode"
        );
    }
}

#[test]
fn base_urls() {
    let at = |base_url| telegram::request(base_url, &Secret::new(TOKEN), &outgoing("7", "x"));
    for (base_url, start) in [
        ("http://127.0.0.1:8081", "http://127.0.0.1:8081/bot"),
        ("http://127.0.0.1:8081//", "http://127.0.0.1:8081/bot"),
        (
            "https://proxy.example/telegram/",
            "https://proxy.example/telegram/bot",
        ),
    ] {
        assert!(
            at(base_url)
                .expect(base_url)
                .url
                .expose()
                .starts_with(start)
        );
    }
    for base_url in [
        "",
        "ftp://host",
        "host",
        "https://",
        "https:///",
        "https://u:p@host",
        "https://h?x",
        "https://h#x",
        "https://h x",
    ] {
        let refusal = at(base_url).expect_err(base_url);
        assert_eq!(refusal.field(), "base_url", "{base_url}");
        assert_eq!(refusal.classified().verdict, Verdict::AuthBroken);
    }
}

#[test]
fn tokens_that_would_change_the_path_are_refused() {
    for token in ["", "a/b", "1:a?x", "1:a#x", "1:a\n", "1:a b", "..%2f"] {
        let refusal =
            telegram::request(BASE_URL, &Secret::new(token), &outgoing("7", "x")).expect_err(token);
        assert_eq!(refusal, Refusal::Token);
    }
}

/// Case O4: the token is on the wire and nowhere else.
#[test]
fn case_o4_nothing_shows_the_token() {
    let request = request(&outgoing("7", "x")).unwrap();
    let shown = format!(
        "{request:?} {} {:?} {:?}",
        request.url,
        request.url,
        Secret::new(TOKEN)
    );
    assert!(!shown.contains("AAH"), "{shown}");
    assert!(shown.contains("https://api.telegram.org/bot{token}/sendMessage"));
    assert_eq!(request.url_template, "/bot{token}/sendMessage");
}
