//! What `tidings doctor --json` said.

use serde_json::Value;

pub struct Diagnosis {
    pub code: Option<i32>,
    pub findings: Vec<Value>,
    pub output: String,
}

/// A finding as a test expects it: the check's name, and parts of the key and of the remedy.
pub type Expected<'a> = (&'a str, &'a str, &'a str);

/// Variables, and the problems that they make.
pub type Case<'a> = (&'a [(&'a str, &'a str)], &'a [Expected<'a>]);

impl Diagnosis {
    /// These problems and no others; the exit code says so.
    pub fn assert_problems(&self, expected: &[Expected]) {
        self.assert_all("problem", expected);
        let code = if expected.is_empty() { 0 } else { 4 };
        assert_eq!(self.code, Some(code), "{}", self.output);
    }

    /// These warnings and no others; they alone are no failure.
    pub fn assert_warnings(&self, expected: &[Expected]) {
        self.assert_all("warning", expected);
    }

    fn assert_all(&self, health: &str, expected: &[Expected]) {
        let of_health = self.findings.iter().filter(|f| f["health"] == health);
        let mut left: Vec<&Value> = of_health.collect();
        for (check, key, remedy) in expected {
            let fits = |finding: &&Value| {
                let has = |field: &str, part: &str| finding[field].as_str().unwrap().contains(part);
                finding["check"] == *check && has("key", key) && has("remedy", remedy)
            };
            let found = left.iter().position(fits);
            let found = found.unwrap_or_else(|| {
                panic!(
                    "no {health} of {check} about {key:?} with {remedy:?} in\n{}",
                    self.output
                )
            });
            left.remove(found);
        }
        assert!(left.is_empty(), "more than expected: {left:#?}");
    }
}
