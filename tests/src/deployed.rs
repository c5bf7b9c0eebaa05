//! What each test program needs to start roles and to look into their databases.

use std::path::PathBuf;

use tokio_postgres::{Client, NoTls};

/// The program `tidings` that `cargo test --workspace` built beside the tests.
///
/// # Panics
/// When it is not there; the message says how to build it.
#[must_use]
#[allow(clippy::panic, clippy::expect_used)] // a test that cannot begin fails here
pub fn binary() -> PathBuf {
    let tests = std::env::current_exe().expect("a running test has a path");
    let built = tests.parent().and_then(|deps| deps.parent());
    let binary = built.expect("tests lie in deps/").join("tidings");
    assert!(
        binary.exists(),
        "{} is missing: run `cargo build -p tidings -p tidings-judge` first, or `make test`",
        binary.display()
    );
    binary
}

/// A session of the database at `url`; it ends with the client.
///
/// # Panics
/// When the database cannot be reached.
#[allow(clippy::expect_used)] // a test that cannot begin fails here
pub async fn connect(url: &str) -> Client {
    let connected = tokio_postgres::connect(url, NoTls).await;
    let (client, connection) = connected.expect("the test's database is there");
    tokio::spawn(connection);
    client
}
