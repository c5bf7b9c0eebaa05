//! Programs in other languages, for tests: which of them this machine has, and what they depend on, installed once a user.
//!
//! ```no_run
//! use tidings_tests::languages::{Language, bounded, find, python, repository};
//!
//! fn run() -> Result<(), Box<dyn std::error::Error>> {
//!     let Some(toolchain) = find(Language::Python) else {
//!         return Ok(()); // It has said so.
//!     };
//!     let interpreter = python(&toolchain, &repository().join("tests/python/requirements.txt"))?;
//!     bounded(&interpreter).args(["-c", "import fastavro"]).status()?;
//!     Ok(())
//! }
//! ```

mod bounded;
mod cache;
mod dependencies;
mod error;
mod toolchain;

pub use bounded::{PATIENCE, bounded};
pub use dependencies::{jars, node_modules, python};
pub use error::InstallError;
pub use toolchain::{Language, Toolchain, find};

use std::path::PathBuf;

/// The folder of this repository.
#[must_use]
pub fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}
