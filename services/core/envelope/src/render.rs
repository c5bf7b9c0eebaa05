//! The words that a person gets.

use crate::decode::Message;
use crate::template::{TEMPLATE, Template, TextMaker};
use minijinja::context;
use std::io;

/// The longest text, in bytes; platforms split or refuse far shorter ones.
pub(crate) const MAX_TEXT_BYTES: usize = 64 * 1024;

/// A message's text, ready for a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Never empty, at most 64 KiB.
    pub text: String,
    /// How the platform reads it; `None` is plain.
    pub parse_mode: Option<ParseMode>,
}

/// How a platform reads a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParseMode {
    /// Telegram's `HTML`.
    Html,
    /// Telegram's `MarkdownV2`.
    MarkdownV2,
}

/// A message that has no text to send; retrying does not help.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The template failed on this data.
    #[error("the template of {event} failed")]
    Template {
        /// The event type.
        event: String,
        /// Which line and why.
        source: Box<minijinja::Error>,
    },
    /// There is nothing to say.
    #[error("the text of {event} is empty")]
    Empty {
        /// The event type.
        event: String,
    },
    /// The text exceeds 64 KiB.
    #[error("the text of {event} is longer than {MAX_TEXT_BYTES} bytes")]
    TooLong {
        /// The event type.
        event: String,
    },
}

impl Message {
    /// The message's text: ready in the data or in the claim check's content, or from the type's template, which has both. The
    /// template is the newest version's where the data can be upcast to it.
    ///
    /// # Errors
    /// [`RenderError`] if the template fails on the data, or the text is empty or too long.
    pub fn text(&self) -> Result<Rendered, RenderError> {
        let event = || self.event.name().to_owned();
        let rendered = match self.event.text() {
            TextMaker::Ready => self.ready_text(),
            TextMaker::Template(template) => Rendered {
                text: self.fill(template)?,
                parse_mode: None,
            },
        };
        if rendered.text.trim().is_empty() {
            return Err(RenderError::Empty { event: event() });
        }
        if rendered.text.len() > MAX_TEXT_BYTES {
            return Err(RenderError::TooLong { event: event() });
        }
        Ok(rendered)
    }

    fn ready_text(&self) -> Rendered {
        let field = |name| self.data.get(name).and_then(serde_json::Value::as_str);
        let content = self.content.as_deref();
        Rendered {
            text: content.or(field("text")).unwrap_or_default().to_owned(),
            parse_mode: match field("parse_mode") {
                Some("HTML") => Some(ParseMode::Html),
                Some("MARKDOWN_V2") => Some(ParseMode::MarkdownV2),
                Some(_) | None => None,
            },
        }
    }

    fn fill(&self, template: &Template) -> Result<String, RenderError> {
        let mut out = Bounded::default();
        let data = template.upcast(&self.data);
        let found = template.environment().get_template(TEMPLATE);
        let filled = found.and_then(|parsed| {
            let context = context! { data => &*data, content => self.content.as_deref() };
            parsed.render_captured_to(context, &mut out).map(|_| ())
        });
        if out.full {
            return Err(RenderError::TooLong {
                event: self.event.name().to_owned(),
            });
        }
        filled.map_err(|source| RenderError::Template {
            event: self.event.name().to_owned(),
            source: Box::new(source),
        })?;
        Ok(String::from_utf8_lossy(&out.bytes).trim_end().to_owned())
    }
}

/// A writer that takes no more than [`MAX_TEXT_BYTES`].
#[derive(Default)]
struct Bounded {
    bytes: Vec<u8>,
    full: bool,
}

impl io::Write for Bounded {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + part.len() > MAX_TEXT_BYTES {
            self.full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
