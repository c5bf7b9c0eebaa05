//! What the platform received: one line of the simulator's log.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// One call that the simulator received, in the shape of its NDJSON log. Unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Call {
    /// Order of arrival.
    pub seq: u64,
    /// The alias of the account that called; empty for a token that nobody knows.
    #[serde(default, deserialize_with = "number_or_text")]
    pub account: String,
    /// The chat that was written to; platforms write it as a number or as a text.
    #[serde(default, deserialize_with = "number_or_text")]
    pub chat_id: String,
    /// The text that was sent.
    #[serde(default)]
    pub text: Option<String>,
    /// The header `tidings-attempt`, as it came.
    #[serde(default)]
    pub attempt: Option<String>,
    /// Whether a person would see the message.
    pub accepted: bool,
    /// How the call was answered.
    #[serde(default)]
    pub answer: Answer,
}

/// How the simulator answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Answer {
    /// With this HTTP status.
    Status(u16),
    /// The connection was closed without an answer.
    Lost,
    /// Not within the caller's patience.
    Hang,
    /// Not accepted, and the connection was reset.
    Reset,
    /// The caller left before, or the call is still in progress.
    #[default]
    Missing,
}

impl Answer {
    /// Whether the caller got no answer at all.
    pub fn never_arrived(self) -> bool {
        match self {
            Self::Lost | Self::Hang | Self::Reset | Self::Missing => true,
            Self::Status(_) => false,
        }
    }

    /// Whether the caller cannot tell from the answer if the message was accepted: no answer, or a
    /// server error (design §1, verdict `Unknown`).
    pub fn is_unknown(self) -> bool {
        match self {
            Self::Lost | Self::Hang | Self::Reset | Self::Missing => true,
            Self::Status(status) => status >= 500,
        }
    }
}

impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let status = value.as_u64().and_then(|number| u16::try_from(number).ok());
        Ok(match (status, value.as_str()) {
            (Some(status), _) => Self::Status(status),
            (None, Some("lost")) => Self::Lost,
            (None, Some("hang")) => Self::Hang,
            (None, Some("reset")) => Self::Reset,
            (None, _) => Self::Missing,
        })
    }
}

fn number_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = || value.as_number().map(ToString::to_string);
    let text = value.as_str().map(str::to_owned);
    Ok(text.or_else(number).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_line_of_the_log() {
        let line = r#"{"seq":7,"received_at_micros":1,"account":"main","chat_id":-100,"thread_id":null,
            "text":"hi","parse_mode":null,"attempt":"a/b/1/1","accepted":true,"message_id":9,"answer":200}"#;
        let call: Call = serde_json::from_str(line).unwrap();
        assert_eq!(call.chat_id, "-100");
        assert_eq!(call.answer, Answer::Status(200));
        assert!(call.accepted);
    }

    #[test]
    fn reads_a_call_of_nobody_to_nowhere() {
        let line = r#"{"seq":7,"account":null,"chat_id":null,"text":null,"accepted":false}"#;
        let call: Call = serde_json::from_str(line).unwrap();
        assert_eq!((call.account.as_str(), call.chat_id.as_str()), ("", ""));
    }

    #[test]
    fn reads_every_kind_of_answer() {
        let answer = |json: &str| -> Answer {
            let line = format!(r#"{{"seq":1,"chat_id":"5","accepted":false{json}}}"#);
            serde_json::from_str::<Call>(&line).unwrap().answer
        };
        assert_eq!(answer(r#","answer":"lost""#), Answer::Lost);
        assert_eq!(answer(r#","answer":"hang""#), Answer::Hang);
        assert_eq!(answer(r#","answer":"reset""#), Answer::Reset);
        assert_eq!(answer(r#","answer":null"#), Answer::Missing);
        assert_eq!(answer(""), Answer::Missing);
        assert_eq!(answer(r#","answer":503"#), Answer::Status(503));
    }

    #[test]
    fn only_a_missing_answer_or_a_server_error_is_unknown() {
        assert!(Answer::Lost.is_unknown() && Answer::Lost.never_arrived());
        assert!(Answer::Status(502).is_unknown() && !Answer::Status(502).never_arrived());
        assert!(!Answer::Status(200).is_unknown() && !Answer::Status(429).is_unknown());
    }
}
