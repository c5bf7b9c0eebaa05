//! The program as people meet it: help, wrong usage, exit codes.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

fn tidings(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command.args(arguments).output().unwrap()
}

#[test]
fn help_names_every_role() {
    let help = tidings(&["--help"]);
    assert!(help.status.success());
    let text = String::from_utf8(help.stdout).unwrap();
    for role in [
        "up",
        "demo",
        "relay",
        "dispatcher",
        "simulator",
        "migrate",
        "topics",
        "load",
        "judge",
        "trace",
    ] {
        assert!(text.contains(&format!("\n  {role} ")), "{role}: {text}");
    }
}

#[test]
fn wrong_usage_ends_with_2() {
    assert_eq!(
        tidings(&["dispatcher", "--no-such-option"]).status.code(),
        Some(2)
    );
}

#[test]
fn a_configuration_that_is_not_there_is_named() {
    let failed = tidings(&["relay", "--config", "no/such/file.toml"]);
    assert_eq!(failed.status.code(), Some(1));
    let words = String::from_utf8(failed.stderr).unwrap();
    assert!(words.contains("no/such/file.toml"), "{words}");
}
