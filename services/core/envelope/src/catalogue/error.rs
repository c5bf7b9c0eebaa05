//! What can be wrong in an event type's folder.

/// A folder that declares no usable event type. Every message names the folder.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// The folder's name is no event type's name.
    #[error(
        "{event}: a name is lower-case words of a-z, 0-9 and _, joined by dots, such as order.confirmed"
    )]
    Name {
        /// The folder.
        event: String,
    },
    /// The folder has no `v<N>.avsc`, or N is below 1.
    #[error("{event}: there must be a v1.avsc, and no version below 1")]
    NoVersion {
        /// The folder.
        event: String,
    },
    /// A version was given twice.
    #[error("{event}: version {version} is there twice")]
    Twice {
        /// The folder.
        event: String,
        /// The version.
        version: i32,
    },
    /// `type.toml` is not what it must be.
    #[error("{event}/type.toml cannot be read")]
    Declaration {
        /// The folder.
        event: String,
        /// Which line and why.
        source: Box<toml::de::Error>,
    },
    /// A schema file is not JSON.
    #[error("{event}/v{version}.avsc is not JSON")]
    Json {
        /// The folder.
        event: String,
        /// The version.
        version: i32,
        /// Which line and why.
        source: serde_json::Error,
    },
    /// A schema file is not Avro.
    #[error("{event}/v{version}.avsc is not a valid Avro schema")]
    Avro {
        /// The folder.
        event: String,
        /// The version.
        version: i32,
        /// Why.
        source: Box<apache_avro::Error>,
    },
    /// A field that event data may not have.
    #[error("{event}/v{version}.avsc: {field} {problem}")]
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
    #[error("{event}: template.txt must be there exactly if type.toml says text = \"template\"")]
    TemplateFile {
        /// The folder.
        event: String,
    },
    /// `template.txt` cannot be parsed.
    #[error("{event}/template.txt cannot be parsed")]
    Template {
        /// The folder.
        event: String,
        /// Which line and why.
        source: Box<minijinja::Error>,
    },
    /// A template uses a name that the data does not have.
    #[error(
        "{event}/template.txt uses {name}, which version {version} does not have; correct the name, or give an older \
         version its own template.v{version}.txt"
    )]
    TemplateField {
        /// The folder.
        event: String,
        /// The version.
        version: i32,
        /// The name used.
        name: String,
    },
    /// An upcaster does not fit the versions that are there.
    #[error(
        "{event}/v{version}.avsc: the upcaster to version {newest} does not fit, because of the field {field}; give \
         version {version} its own template.v{version}.txt, or let its schema be the built-in one"
    )]
    Upcast {
        /// The folder.
        event: String,
        /// The older version.
        version: i32,
        /// The newest one.
        newest: i32,
        /// A field that one of them lacks.
        field: String,
    },
    /// A `template.v<N>.txt` of a version that is not there.
    #[error(
        "{event}/template.v{version}.txt: there is no v{version}.avsc; remove it or add the schema"
    )]
    StrayTemplate {
        /// The folder.
        event: String,
        /// The version.
        version: i32,
    },
    /// The composed schema is longer than readers take.
    #[error(
        "{event}/v{version}.avsc: composed with the envelope and the template it has {bytes} bytes, and readers take \
         {most}; shorten the docs or the template, or divide the data"
    )]
    TooLong {
        /// The folder.
        event: String,
        /// The version.
        version: i32,
        /// Bytes that it has.
        bytes: usize,
        /// Bytes that are allowed.
        most: usize,
    },
    /// The name does not fit the kind.
    #[error("{event}: {problem}")]
    Naming {
        /// The folder.
        event: String,
        /// What is wrong and what to do.
        problem: String,
    },
}
