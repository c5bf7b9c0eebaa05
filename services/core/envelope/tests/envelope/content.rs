//! The content of a claim check becomes the text, or a part of it.

use crate::support::{CONFIRMED, encode, event, round_trip};
use tidings_envelope::{
    Catalogue, Limits, ParseMode, RenderError, TypeFolder, WriterSchema, decode,
};

#[test]
fn it_is_the_text_of_a_type_whose_text_comes_ready() {
    let message = round_trip(
        "notification.requested",
        r#"{"text": "in short", "parse_mode": "HTML"}"#,
    );
    assert_eq!(message.text().unwrap().text, "in short");
    let message = message.with_content("<b>at length</b>\n".into());
    let rendered = message.text().unwrap();
    assert_eq!(rendered.text, "<b>at length</b>\n");
    assert_eq!(rendered.parse_mode, Some(ParseMode::Html));
    let endless = message.with_content("x".repeat(64 * 1024 + 1).into());
    assert!(matches!(endless.text(), Err(RenderError::TooLong { .. })));
}

#[test]
fn a_template_has_it_as_content() {
    const DECLARATION: &str = "owner = \"a\"\npolicy = \"resend\"\nretry = \"standard\"\non_dead = \"continue\"\non_stale = \"send\"\ntext = \"template\"\n";
    let folder = TypeFolder {
        name: "order.confirmed",
        declaration: DECLARATION,
        template: Some("{{ data.order_id }}{% if content %}: {{ content }}{% endif %}"),
        older_templates: &[],
        versions: &[(
            1,
            include_str!("../../../../../schemas/order.confirmed/v1.avsc"),
        )],
    };
    let catalogue = Catalogue::from_folders(&[folder]).unwrap();
    assert!(catalogue.get("order.confirmed", 1).unwrap().uses_content());
    let writer = WriterSchema::bind(&catalogue, event("order.confirmed").schema_json()).unwrap();
    let body = encode("order.confirmed", CONFIRMED).unwrap();
    let message = decode(&writer, &body, &Limits::default()).unwrap();
    assert_eq!(message.text().unwrap().text, "A-1");
    let message = message.with_content("{{ data }}".into());
    assert_eq!(message.text().unwrap().text, "A-1: {{ data }}");
}

#[test]
fn a_type_says_whether_it_uses_it() {
    assert!(event("notification.requested").uses_content());
    assert!(!event("order.confirmed").uses_content());
}
