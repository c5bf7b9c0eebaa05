use std::fmt;
use std::io::Write as _;
use std::process::Command;

/// A language that programs of this repository are written in, beside Rust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// SQL scripts for psql.
    Psql,
    /// Python with venv.
    Python,
    /// JavaScript on Node.js, with npm.
    Node,
    /// Go.
    Go,
    /// Java with its compiler, and Maven.
    Java,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Psql, Self::Python, Self::Node, Self::Go, Self::Java];

    /// Its name in folders and ids.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Psql => "psql",
            Self::Python => "python",
            Self::Node => "node",
            Self::Go => "go",
            Self::Java => "java",
        }
    }

    fn probes(self) -> &'static [Probe] {
        match self {
            Self::Psql => &[PSQL],
            Self::Python => &[PYTHON],
            Self::Node => &[NODE, NPM],
            Self::Go => &[GO],
            Self::Java => &[JAVA, MAVEN],
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A language that this machine has.
#[derive(Debug, Clone)]
pub struct Toolchain {
    /// Which.
    pub language: Language,
    /// What its programs say about themselves: dependencies are installed anew for another version.
    pub(super) version: String,
}

/// Looks a language up on `PATH`. If it is not there or too old, that is said on standard error, where a test's capture
/// does not hide it.
#[must_use]
pub fn find(language: Language) -> Option<Toolchain> {
    let mut version = String::new();
    for probe in language.probes() {
        let Some(said) = probe.ask() else {
            let line = format!(
                "\n*** SKIPPED: {language} is not tested on this machine: {} is missing ***\n",
                probe.wanted
            );
            // Nobody reads it if this fails.
            let _ = std::io::stderr().write_all(line.as_bytes());
            return None;
        };
        version.push_str(&said);
    }
    Some(Toolchain { language, version })
}

/// A program, and how to see that it is new enough.
struct Probe {
    program: &'static str,
    arguments: &'static [&'static str],
    fits: fn(&str) -> bool,
    wanted: &'static str,
}

const PSQL: Probe = Probe {
    program: "psql",
    arguments: &["--version"],
    fits: |_| true,
    wanted: "psql",
};

/// psycopg 3.3 and the packages under confluent-kafka want 3.10.
const PYTHON: Probe = Probe {
    program: "python3",
    arguments: &[
        "-c",
        "import ensurepip, sys, venv; print(sys.executable, sys.version); sys.exit(sys.version_info < (3, 10))",
    ],
    fits: |_| true,
    wanted: "Python 3.10 or newer with venv",
};

const NODE: Probe = Probe {
    program: "node",
    arguments: &["--version"],
    fits: |said| number_after(said, "v").is_some_and(|major| major >= 18),
    wanted: "Node.js 18 or newer",
};

const NPM: Probe = Probe {
    program: "npm",
    arguments: &["--version"],
    fits: |_| true,
    wanted: "npm",
};

/// From 1.21 on Go fetches the newer one that a module asks for by itself (as in deploy/setup.sh).
const GO: Probe = Probe {
    program: "go",
    arguments: &["env", "GOVERSION"],
    fits: |said| number_after(said, "go1.").is_some_and(|minor| minor >= 21),
    wanted: "Go 1.21 or newer",
};

/// A source file is run as it is, for which Java needs its compiler.
const JAVA: Probe = Probe {
    program: "java",
    arguments: &["--list-modules"],
    fits: |said| number_after(said, "jdk.compiler@").is_some_and(|major| major >= 17),
    wanted: "Java 17 or newer with its compiler (a JDK)",
};

const MAVEN: Probe = Probe {
    program: "mvn",
    arguments: &["--version"],
    fits: |_| true,
    wanted: "Maven",
};

impl Probe {
    /// What the program said, if it is there and new enough.
    fn ask(&self) -> Option<String> {
        let output = Command::new(self.program).args(self.arguments).output();
        let output = output.ok().filter(|output| output.status.success())?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (self.fits)(&said).then_some(said)
    }
}

/// The number that stands behind the first `mark`.
fn number_after(text: &str, mark: &str) -> Option<u32> {
    let (_, rest) = text.split_once(mark)?;
    let digits = rest.find(|c: char| !c.is_ascii_digit());
    rest[..digits.unwrap_or(rest.len())].parse().ok()
}
