//! The words that a person gets.

use crate::catalogue::{CatalogueError, TextSource, TypeFolder};
use crate::decode::Message;
use crate::shape::{RecordShape, Shape};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, context};
use std::io;

/// The longest text, in bytes; platforms split or refuse far shorter ones.
pub(crate) const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Template instructions that one text may take: some thousand list items.
const FUEL: u64 = 200_000;
const TEMPLATE: &str = "template.txt";

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
    /// The message's text: ready in the data, or from the type's template.
    ///
    /// # Errors
    /// [`RenderError`] if the template fails on the data, or the text is empty or too long.
    pub fn text(&self) -> Result<Rendered, RenderError> {
        let event = || self.event.name().to_owned();
        let rendered = match self.event.text() {
            TextMaker::Ready => self.ready_text(),
            TextMaker::Template(environment) => Rendered {
                text: self.fill(environment)?,
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
        Rendered {
            text: field("text").unwrap_or_default().to_owned(),
            parse_mode: match field("parse_mode") {
                Some("HTML") => Some(ParseMode::Html),
                Some("MARKDOWN_V2") => Some(ParseMode::MarkdownV2),
                Some(_) | None => None,
            },
        }
    }

    fn fill(&self, environment: &Environment<'static>) -> Result<String, RenderError> {
        let mut out = Bounded::default();
        let filled = environment.get_template(TEMPLATE).and_then(|template| {
            template
                .render_captured_to(context! { data => &self.data }, &mut out)
                .map(|_| ())
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

/// How the texts of an event type are made.
#[derive(Debug)]
pub(crate) enum TextMaker {
    Ready,
    Template(Box<Environment<'static>>),
}

impl TextMaker {
    pub(crate) fn build(
        folder: &TypeFolder<'_>,
        version: i32,
        source: TextSource,
        data: &RecordShape,
    ) -> Result<Self, CatalogueError> {
        match (source, folder.template) {
            (TextSource::Ready, None) => ready(folder, version, data),
            (TextSource::Template, Some(template)) => parse(folder, version, template, data),
            (TextSource::Ready, Some(_)) | (TextSource::Template, None) => {
                Err(CatalogueError::TemplateFile {
                    event: folder.name.to_owned(),
                })
            }
        }
    }
}

fn ready(
    folder: &TypeFolder<'_>,
    version: i32,
    data: &RecordShape,
) -> Result<TextMaker, CatalogueError> {
    match data.field("text").map(|field| &field.shape) {
        Some(Shape::String) => Ok(TextMaker::Ready),
        _ => Err(CatalogueError::Field {
            event: folder.name.to_owned(),
            version,
            field: "data.text".to_owned(),
            problem: "must be a string, since type.toml says that the text comes ready",
        }),
    }
}

fn parse(
    folder: &TypeFolder<'_>,
    version: i32,
    template: &str,
    data: &RecordShape,
) -> Result<TextMaker, CatalogueError> {
    let refused = |source| CatalogueError::Template {
        event: folder.name.to_owned(),
        source: Box::new(source),
    };
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    // The place of a platform's escaping, once templates carry markup: texts are plain now.
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment
        .add_template_owned(TEMPLATE, template.to_owned())
        .map_err(refused)?;

    let used = environment
        .get_template(TEMPLATE)
        .map_err(refused)?
        .undeclared_variables(true);
    match used.into_iter().filter(|name| !knows(data, name)).min() {
        Some(name) => Err(CatalogueError::TemplateField {
            event: folder.name.to_owned(),
            version,
            name,
        }),
        None => Ok(TextMaker::Template(Box::new(environment))),
    }
}

/// Whether a template's variable is `data` or a field of it.
fn knows(data: &RecordShape, variable: &str) -> bool {
    match variable.strip_prefix("data.") {
        Some(path) => path
            .split('.')
            .next()
            .is_some_and(|field| data.field(field).is_some()),
        None => variable == "data",
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
