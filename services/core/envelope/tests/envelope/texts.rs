//! What people read.

use crate::support::{CONFIRMED, SHIPPED, encode, event, round_trip};
use tidings_envelope::{
    Catalogue, Limits, ParseMode, RenderError, TypeFolder, WriterSchema, decode,
};

#[test]
fn a_confirmed_order_names_items_and_total() {
    let text = round_trip("order.confirmed", CONFIRMED).text().unwrap();
    assert_eq!(
        text.text,
        "Order A-1 is confirmed.\nThank you, Ada!\n\n- 2 x Tea (T1)\n\nTotal: 19.99 EUR"
    );
    assert_eq!(text.parse_mode, None);
    let noted = CONFIRMED.replace("null", "\"Mind the <b>gap</b> & {{ data }}.\"");
    let text = round_trip("order.confirmed", &noted).text().unwrap().text;
    assert!(
        text.ends_with("EUR\n\nMind the <b>gap</b> & {{ data }}."),
        "{text}"
    );
}

#[test]
fn a_shipped_order_leaves_out_what_is_unknown() {
    let text = |data: &str| round_trip("order.shipped", data).text().unwrap().text;
    assert_eq!(
        text(SHIPPED),
        "Order A-1 is on its way.\nCarrier: DHL\nShipped: 2026-01-31T12:00:00Z"
    );
    assert_eq!(
        text(&SHIPPED.replace("DHL", "UNKNOWN")),
        "Order A-1 is on its way.\nShipped: 2026-01-31T12:00:00Z"
    );
}

#[test]
fn a_ready_text_is_sent_as_it_is() {
    let rendered = |data| round_trip("notification.requested", data).text().unwrap();
    let html = rendered(r#"{"text": "<b>{{ hi }}</b> ", "parse_mode": "HTML"}"#);
    assert_eq!(
        (html.text.as_str(), html.parse_mode),
        ("<b>{{ hi }}</b> ", Some(ParseMode::Html))
    );
    assert_eq!(
        rendered(r#"{"text": "x", "parse_mode": "MARKDOWN_V2"}"#).parse_mode,
        Some(ParseMode::MarkdownV2)
    );
    assert_eq!(
        rendered(r#"{"text": "x", "parse_mode": "PLAIN"}"#).parse_mode,
        None
    );
    assert_eq!(rendered(r#"{"text": "x"}"#).parse_mode, None);
}

#[test]
fn texts_are_neither_empty_nor_endless() {
    let text = |text: &str| {
        round_trip(
            "notification.requested",
            &format!("{{\"text\": \"{text}\"}}"),
        )
        .text()
    };
    assert!(matches!(text(" \\n"), Err(RenderError::Empty { .. })));
    assert!(matches!(
        text(&"x".repeat(64 * 1024 + 1)),
        Err(RenderError::TooLong { .. })
    ));
    assert!(text(&"x".repeat(64 * 1024)).is_ok());

    let name = "y".repeat(1_000);
    let long = format!(r#"{{"sku": "T1", "name": "{name}", "quantity": 2}},"#).repeat(100);
    let long = round_trip(
        "order.confirmed",
        &CONFIRMED.replace("[{", &format!("[{long}{{")),
    );
    assert!(matches!(long.text(), Err(RenderError::TooLong { .. })));
}

#[test]
fn a_template_cannot_run_for_ever() {
    const DECLARATION: &str = "owner = \"a\"\npolicy = \"resend\"\nretry = \"standard\"\non_dead = \"hold\"\non_stale = \"send\"\ntext = \"template\"\n";
    let folder = TypeFolder {
        name: "order.confirmed",
        declaration: DECLARATION,
        template: Some(
            "{% for a in data.items %}{% for b in data.items %}{% endfor %}{% endfor %}x",
        ),
        older_templates: &[],
        versions: &[(
            1,
            include_str!("../../../../../schemas/order.confirmed/v1.avsc"),
        )],
    };
    let catalogue = Catalogue::from_folders(&[folder]).unwrap();
    let writer = WriterSchema::bind(&catalogue, event("order.confirmed").schema_json()).unwrap();
    let many = r#"{"sku": "", "name": "", "quantity": 2},"#.repeat(5_000);
    let body = encode(
        "order.confirmed",
        &CONFIRMED.replace("[{", &format!("[{many}{{")),
    )
    .unwrap();
    let message = decode(&writer, &body, &Limits::default()).unwrap();
    assert!(matches!(message.text(), Err(RenderError::Template { .. })));
}
