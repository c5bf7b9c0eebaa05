//! What can be wrong in a folder under `schemas/`.

/// A folder that declares no usable event type. Every message names the folder.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// The folder's name is no event type's name.
    #[error(
        "schemas/{event}: a name is lower-case words of a-z, 0-9 and _, joined by dots, such as order.confirmed"
    )]
    Name {
        /// The folder.
        event: String,
    },
    /// The folder has no `v<N>.avsc`, or N is below 1.
    #[error("schemas/{event}: there must be a v1.avsc, and no version below 1")]
    NoVersion {
        /// The folder.
        event: String,
    },
    /// A version was given twice.
    #[error("schemas/{event}: version {version} is there twice")]
    Twice {
        /// The folder.
        event: String,
        /// The version.
        version: i32,
    },
    /// `type.toml` is not what it must be.
    #[error("schemas/{event}/type.toml cannot be read")]
    Declaration {
        /// The folder.
        event: String,
        /// Which line and why.
        source: Box<toml::de::Error>,
    },
    /// A schema file is not JSON.
    #[error("schemas/{event}/v{version}.avsc is not JSON")]
    Json {
        /// The folder.
        event: String,
        /// The version.
        version: i32,
        /// Which line and why.
        source: serde_json::Error,
    },
    /// A schema file is not Avro.
    #[error("schemas/{event}/v{version}.avsc is not a valid Avro schema")]
    Avro {
        /// The folder.
        event: String,
        /// The version.
        version: i32,
        /// Why.
        source: Box<apache_avro::Error>,
    },
    /// A field that event data may not have.
    #[error("schemas/{event}/v{version}.avsc: {field} {problem}")]
    Field {
        /// The folder.
        event: String,
        /// The version.
        version: i32,
        /// The field's path.
        field: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// There is no `template.txt` although the text comes from it, or the other way round.
    #[error(
        "schemas/{event}: template.txt must be there exactly if type.toml says text = \"template\""
    )]
    TemplateFile {
        /// The folder.
        event: String,
    },
    /// `template.txt` cannot be parsed.
    #[error("schemas/{event}/template.txt cannot be parsed")]
    Template {
        /// The folder.
        event: String,
        /// Which line and why.
        source: Box<minijinja::Error>,
    },
    /// `template.txt` uses a name that the data does not have.
    #[error("schemas/{event}/template.txt uses {name}, which version {version} does not have")]
    TemplateField {
        /// The folder.
        event: String,
        /// The version.
        version: i32,
        /// The name used.
        name: String,
    },
}
