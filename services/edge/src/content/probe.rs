//! Whether a bucket can be read with what is configured, without anything in it.

use object_store::path::Path;
use object_store::{Error, ObjectStoreExt as _};

use super::ContentStore;
use super::error::innermost;

/// No content has this key: uploads choose their own. It is asked for because the answer tells everything: only who may
/// read objects and list the bucket is told that it is missing.
const NO_CONTENT: &str = "tidings-doctor/not-there";

/// The longest code that is read of a server's answer.
const MAX_CODE_CHARS: usize = 64;

/// Why a bucket can not be read. Holds the server's code at most, never what it quotes of a signed request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotReadable {
    /// There is no such bucket.
    #[error("there is no such bucket")]
    NoBucket,
    /// The server does not know the key's name.
    #[error("it does not know the key")]
    UnknownKey,
    /// The server takes another secret for the key.
    #[error("it does not accept signatures with this secret")]
    WrongSecret,
    /// The key may not read objects, or not list the bucket.
    #[error("the key may not read it ({code})")]
    NoRight {
        /// As the server says it.
        code: String,
    },
    /// This machine's clock and the server's differ too much for a signature.
    #[error("its clock and this machine's differ too much")]
    Clock,
    /// The bucket is in another region.
    #[error("the bucket is in another region")]
    OtherRegion,
    /// Something answers that does not speak S3's protocol.
    #[error("what answers there does not speak S3's protocol")]
    NotS3,
    /// No answer, or one that tells nothing.
    #[error("no answer: {reason}")]
    Silent {
        /// What the library said last.
        reason: String,
    },
}

impl ContentStore {
    /// Asks for a content that is not there. It sets no time limit.
    ///
    /// # Errors
    /// [`NotReadable`], unless the answer is that it is not there.
    pub async fn probe(&self) -> Result<(), NotReadable> {
        match self.store.get(&Path::from(NO_CONTENT)).await {
            Ok(_) => Ok(()),
            Err(Error::NotFound { .. }) if !self.keeps_types => Ok(()),
            Err(error) => match code(&error) {
                Some(code) if code == "NoSuchKey" => Ok(()),
                code => Err(NotReadable::of(code, &error)),
            },
        }
    }
}

impl NotReadable {
    /// By the code of S3's protocol; servers differ in the status beside it.
    #[allow(clippy::wildcard_enum_match_arm)]
    fn of(code: Option<String>, error: &Error) -> Self {
        let refused = matches!(
            error,
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. }
        );
        match code.as_deref() {
            Some("NoSuchBucket") => Self::NoBucket,
            Some("InvalidAccessKeyId") => Self::UnknownKey,
            Some("SignatureDoesNotMatch") => Self::WrongSecret,
            Some("RequestTimeTooSkewed") => Self::Clock,
            Some(
                "AuthorizationHeaderMalformed"
                | "PermanentRedirect"
                | "TemporaryRedirect"
                | "IllegalLocationConstraintException",
            ) => Self::OtherRegion,
            Some(code) if refused => Self::NoRight {
                code: code.to_owned(),
            },
            Some(code) => Self::Silent {
                reason: code.to_owned(),
            },
            None if refused || matches!(error, Error::NotFound { .. }) => Self::NotS3,
            None => Self::Silent {
                reason: innermost(error),
            },
        }
    }
}

/// The code of the server's answer, which the library keeps only within its words.
fn code(error: &Error) -> Option<String> {
    let words = error.to_string();
    let (_, rest) = words.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let plain = code.len() <= MAX_CODE_CHARS && code.chars().all(|c| c.is_ascii_alphanumeric());
    plain.then(|| code.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(body: &str) -> Error {
        Error::PermissionDenied {
            path: "k".into(),
            source: format!("Server returned non-2xx status code: 403 Forbidden: {body}").into(),
        }
    }

    fn told(error: &Error) -> NotReadable {
        NotReadable::of(code(error), error)
    }

    #[test]
    fn a_refusal_is_told_by_its_code_and_never_quoted() {
        let body =
            "<Error><Code>SignatureDoesNotMatch</Code><StringToSign>canary</StringToSign></Error>";
        assert_eq!(told(&refusal(body)), NotReadable::WrongSecret);
        let denied = told(&refusal("<Error><Code>AccessDenied</Code>canary</Error>"));
        assert_eq!(denied.to_string(), "the key may not read it (AccessDenied)");
        let strange = told(&refusal("<Code>canary canary</Code>"));
        assert_eq!(strange, NotReadable::NotS3);
    }

    #[test]
    fn a_missing_page_is_no_bucket_without_the_content() {
        let missing = Error::NotFound {
            path: "k".into(),
            source: "404: <html>".into(),
        };
        assert_eq!(told(&missing), NotReadable::NotS3);
        let bucket = Error::NotFound {
            path: "k".into(),
            source: "404: <Code>NoSuchBucket</Code>".into(),
        };
        assert_eq!(told(&bucket), NotReadable::NoBucket);
    }
}
