//! Answers in Telegram's shapes.

use std::borrow::Cow;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};

use super::call::Call;
use crate::script::ThrottleForm;

/// Ids at and below this belong to supergroups and channels.
const SUPERGROUP_IDS_END: i64 = -1_000_000_000_000;

/// An HTTP answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Reply {
    fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: vec![content_type("application/json")],
            body: body.to_string(),
        }
    }

    fn html(status: u16, body: String) -> Self {
        Self {
            status,
            headers: vec![content_type("text/html")],
            body,
        }
    }

    /// The answer as the server takes it. Names and values that HTTP cannot carry were refused with the script.
    pub(super) fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in self.headers {
            if let (Ok(name), Ok(value)) =
                (HeaderName::try_from(name), HeaderValue::try_from(value))
            {
                response.headers_mut().append(name, value);
            }
        }
        response
    }
}

fn content_type(value: &str) -> (String, String) {
    (header::CONTENT_TYPE.to_string(), value.to_owned())
}

/// An error in Telegram's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    code: u16,
    description: Cow<'static, str>,
}

impl Fault {
    pub(super) fn new(code: u16, description: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            description: description.into(),
        }
    }

    pub(super) fn reply(&self) -> Reply {
        Reply::json(self.code, &self.body())
    }

    fn reply_with_parameters(&self, parameters: Value) -> Reply {
        let mut body = self.body();
        body["parameters"] = parameters;
        Reply::json(self.code, &body)
    }

    fn body(&self) -> Value {
        json!({ "ok": false, "error_code": self.code, "description": self.description })
    }
}

/// The message as it was posted.
pub(super) fn success(call: &Call, message_id: i64, at: Duration) -> Reply {
    let mut message = json!({
        "message_id": message_id,
        "from": { "id": 1, "is_bot": true, "first_name": "simulator", "username": "simulator_bot" },
        "chat": chat(&call.chat_id),
        "date": at.as_secs(),
        "text": call.shown_text,
    });
    if let Some(thread_id) = call.thread_id {
        message["message_thread_id"] = thread_id.into();
        message["is_topic_message"] = true.into();
    }
    Reply::json(200, &json!({ "ok": true, "result": message }))
}

fn chat(chat_id: &str) -> Value {
    match chat_id.parse::<i64>() {
        Ok(id) if id > 0 => json!({ "id": id, "type": "private", "first_name": "Somebody" }),
        Ok(id) if id > SUPERGROUP_IDS_END => {
            json!({ "id": id, "type": "group", "title": "A group" })
        }
        Ok(id) => json!({ "id": id, "type": "supergroup", "title": "A supergroup" }),
        Err(_) => {
            let id = channel_id(chat_id);
            json!({ "id": id, "type": "channel", "title": "A channel", "username": &chat_id[1..] })
        }
    }
}

/// A made-up id of a public name, always the same one (FNV-1a).
fn channel_id(name: &str) -> i64 {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    SUPERGROUP_IDS_END - i64::from(hash)
}

/// A refusal for now.
pub(super) fn throttled(retry_after: u64, form: ThrottleForm) -> Reply {
    let words = format!("Too Many Requests: retry after {retry_after}");
    let parameters = json!({ "retry_after": retry_after });
    match form {
        ThrottleForm::HeaderAndBody => {
            let mut reply = Fault::new(429, words).reply_with_parameters(parameters);
            let header = (header::RETRY_AFTER.to_string(), retry_after.to_string());
            reply.headers.push(header);
            reply
        }
        ThrottleForm::Body => Fault::new(429, words).reply_with_parameters(parameters),
        ThrottleForm::Text => Fault::new(429, words).reply(),
        ThrottleForm::Text400 => Fault::new(400, format!("Bad Request: {words}")).reply(),
    }
}

/// A server's failure, as the Bot API or as a front end words it.
pub(super) fn server_error(status: u16, html: bool) -> Reply {
    let reason = StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or("Server Error");
    if html {
        let title = format!("{status} {reason}");
        return Reply::html(
            status,
            format!(
                "<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n</body>\r\n</html>\r\n"
            ),
        );
    }
    Fault::new(status, reason).reply()
}

/// The group lives on as a supergroup.
pub(super) fn migrated(new_chat_id: i64) -> Reply {
    Fault::new(
        400,
        "Bad Request: group chat was upgraded to a supergroup chat",
    )
    .reply_with_parameters(json!({ "migrate_to_chat_id": new_chat_id }))
}
