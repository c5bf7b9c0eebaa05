use serde::Serialize;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// As it must be.
    Ok,
    /// It works, but somebody should look at it.
    Warning,
    /// It does not work, or a promise does not hold.
    Problem,
}

impl Health {
    /// The word that is printed.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// What one check found. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check's name.
    pub check: &'static str,
    /// How bad it is.
    pub health: Health,
    /// The key of the configuration, or the thing, that it is about; empty when all is well.
    pub key: String,
    /// What was found.
    pub found: String,
    /// What to do; empty when all is well.
    pub remedy: String,
}

impl Finding {
    /// All is well.
    pub(super) fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self {
            check,
            health: Health::Ok,
            key: String::new(),
            found: found.into(),
            remedy: String::new(),
        }
    }

    /// Works, but should be looked at.
    pub(super) fn warning(
        check: &'static str,
        key: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            health: Health::Warning,
            key: key.into(),
            remedy: remedy.into(),
            ..Self::ok(check, found)
        }
    }

    /// Does not work.
    pub(super) fn problem(
        check: &'static str,
        key: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            health: Health::Problem,
            ..Self::warning(check, key, found, remedy)
        }
    }
}
