//! Lines on standard output, for commands whose output is piped: `tidings config print | head` is no failure.

use std::fmt::Display;
use std::io::{ErrorKind, Write as _, stdout};

/// Prints a line. When the reader has gone the command ends, as it would by SIGPIPE, quietly.
pub(crate) fn line(text: impl Display) {
    if let Err(error) = writeln!(stdout(), "{text}") {
        let gone = error.kind() == ErrorKind::BrokenPipe;
        if !gone {
            eprintln!("tidings: standard output: {error}");
        }
        std::process::exit(i32::from(!gone));
    }
}
