//! How the texts of an event type are made, prepared once.

use crate::catalogue::{CatalogueError, EventType, TextSource, TypeFolder};
use crate::shape::{RecordShape, Shape};
use crate::upcast::{self, Upcaster};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde_json::Value as Json;
use std::borrow::Cow;

/// Template instructions that one text may take: some thousand list items.
const FUEL: u64 = 200_000;
/// The name of the one template in an environment.
pub(crate) const TEMPLATE: &str = "template.txt";

/// The template of a version, and the version whose data it is for.
pub(crate) struct Words<'a> {
    pub(crate) template: Option<&'a str>,
    pub(crate) version: i32,
}

impl<'a> Words<'a> {
    /// Its own `template.v<N>.txt`; else the newest's, over upcast data; else `template.txt` over its own.
    pub(crate) fn of_folder(
        folder: &TypeFolder<'a>,
        version: i32,
        newest: Option<&EventType>,
    ) -> Self {
        let own = folder
            .older_templates
            .iter()
            .find(|(number, _)| *number == version);
        let upcast = newest
            .map(EventType::version)
            .filter(|newest| upcast::chain(folder.name, version, *newest).is_some());
        match (own, upcast) {
            (Some((_, template)), _) => Self {
                template: Some(template),
                version,
            },
            (None, Some(newest)) => Self {
                template: folder.template,
                version: newest,
            },
            (None, None) => Self {
                template: folder.template,
                version,
            },
        }
    }
}

/// The template's name for what the claim check names; none without one.
pub(crate) const CONTENT: &str = "content";

/// How the texts of an event type are made.
#[derive(Debug)]
pub(crate) enum TextMaker {
    /// The text stands in the data.
    Ready,
    Template(Box<Template>),
}

/// A parsed template and what comes before it.
#[derive(Debug)]
pub(crate) struct Template {
    environment: Environment<'static>,
    source: String,
    version: i32,
    upcasts: Vec<&'static Upcaster>,
}

impl TextMaker {
    pub(crate) fn build(
        event: &str,
        version: i32,
        source: TextSource,
        words: &Words<'_>,
        data: &RecordShape,
    ) -> Result<Self, CatalogueError> {
        match (source, words.template) {
            (TextSource::Ready, None) => ready(event, version, data),
            (TextSource::Template, Some(template)) => {
                Template::parse(event, version, template, words.version, data)
                    .map(|template| Self::Template(Box::new(template)))
            }
            (TextSource::Ready, Some(_)) | (TextSource::Template, None) => {
                Err(CatalogueError::TemplateFile {
                    event: event.to_owned(),
                })
            }
        }
    }

    /// The template's text.
    pub(crate) fn template(&self) -> Option<&str> {
        match self {
            Self::Ready => None,
            Self::Template(template) => Some(&template.source),
        }
    }

    /// The version whose data the template is for.
    pub(crate) fn version(&self) -> Option<i32> {
        match self {
            Self::Ready => None,
            Self::Template(template) => Some(template.version),
        }
    }

    /// The fields that the data has for the template, if it is upcast; the error is a field that is not there to be upcast.
    pub(crate) fn fields_after(
        &self,
        data: &RecordShape,
    ) -> Option<Result<Vec<String>, &'static str>> {
        match self {
            Self::Template(template) if !template.upcasts.is_empty() => {
                Some(upcast::fields_after(&template.upcasts, names(data)))
            }
            Self::Ready | Self::Template(_) => None,
        }
    }
}

impl Template {
    /// The environment with the template, under [`TEMPLATE`].
    pub(crate) fn environment(&self) -> &Environment<'static> {
        &self.environment
    }

    /// The data as the template's version has it.
    pub(crate) fn upcast<'d>(&self, data: &'d Json) -> Cow<'d, Json> {
        if self.upcasts.is_empty() {
            Cow::Borrowed(data)
        } else {
            Cow::Owned(upcast::apply(&self.upcasts, data))
        }
    }

    fn parse(
        event: &str,
        version: i32,
        source: &str,
        for_version: i32,
        data: &RecordShape,
    ) -> Result<Self, CatalogueError> {
        let no_upcast = |field: &str| CatalogueError::Upcast {
            event: event.to_owned(),
            version,
            newest: for_version,
            field: field.to_owned(),
        };
        let upcasts = if for_version == version {
            Vec::new()
        } else {
            upcast::chain(event, version, for_version).ok_or_else(|| no_upcast("event_version"))?
        };
        let fields = upcast::fields_after(&upcasts, names(data))
            .map_err(|field| no_upcast(&format!("data.{field}")))?;
        let environment = environment(source).map_err(|source| CatalogueError::Template {
            event: event.to_owned(),
            source: Box::new(source),
        })?;
        match unknown_name(&environment, &fields) {
            Some(name) => Err(CatalogueError::TemplateField {
                event: event.to_owned(),
                version: for_version,
                name,
            }),
            None => Ok(Self {
                environment,
                source: source.to_owned(),
                version: for_version,
                upcasts,
            }),
        }
    }
}

fn ready(event: &str, version: i32, data: &RecordShape) -> Result<TextMaker, CatalogueError> {
    match data.field("text").map(|field| &field.shape) {
        Some(Shape::String) => Ok(TextMaker::Ready),
        _ => Err(CatalogueError::Field {
            event: event.to_owned(),
            version,
            field: "data.text".to_owned(),
            problem: "must be a string, since type.toml says that the text comes ready",
        }),
    }
}

fn environment(template: &str) -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    // The place of a platform's escaping, once templates carry markup: texts are plain now.
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.add_template_owned(TEMPLATE, template.to_owned())?;
    Ok(environment)
}

/// The first variable that is neither `data` nor a field of it.
fn unknown_name(environment: &Environment<'static>, fields: &[String]) -> Option<String> {
    let template = environment.get_template(TEMPLATE).ok()?;
    let used = template.undeclared_variables(true);
    used.into_iter().filter(|name| !knows(fields, name)).min()
}

fn knows(fields: &[String], variable: &str) -> bool {
    match variable.strip_prefix("data.") {
        Some(path) => path
            .split('.')
            .next()
            .is_some_and(|field| fields.iter().any(|known| known == field)),
        None => variable == "data" || variable == CONTENT,
    }
}

fn names(data: &RecordShape) -> impl Iterator<Item = String> + '_ {
    data.fields.iter().map(|field| field.name.clone())
}
