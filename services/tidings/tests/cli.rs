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
        "claim-check",
        "deferred",
        "capacity",
        "targets",
        "load",
        "judge",
        "trace",
        "config",
        "doctor",
        "completions",
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

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_configuration_is_printed_with_where_it_is_from_and_without_secrets() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    command
        .args(["config", "print", "--json"])
        .env("TIDINGS_KAFKA__PARTITIONS", "3")
        .env("TIDINGS_STATE__DATABASE", "postgres://u:canary@h/d");
    let printed = text(&command.output().unwrap());
    let partitions =
        r#"{"key":"kafka.partitions","origin":"variable TIDINGS_KAFKA__PARTITIONS","value":3}"#;
    assert!(printed.lines().any(|line| line == partitions), "{printed}");
    assert!(printed.contains(r#""key":"kafka.prefix","origin":"default""#));
    assert!(printed.contains("(secret, set from variable TIDINGS_STATE__DATABASE)"));
    assert!(!printed.contains("canary"), "{printed}");
    let defaults = text(&tidings(&["config", "print", "--defaults"]));
    assert!(
        defaults.contains("kafka.partitions = 12  # default"),
        "{defaults}"
    );
}

#[test]
fn a_configuration_that_does_not_fit_ends_with_4_and_every_remedy() {
    let file = std::env::temp_dir().join(format!("tidings-cli-{}.toml", std::process::id()));
    std::fs::write(
        &file,
        "[kafka]\nbroker = 'x:1'\n[dispatcher]\nlease = '10s'",
    )
    .unwrap();
    let checked = tidings(&["config", "check", "--config", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(checked.status.code(), Some(4));
    let words = text(&checked);
    assert!(
        words.contains("kafka.broker = (unknown key): did you mean kafka.brokers?"),
        "{words}"
    );
    assert!(
        words.contains("dispatcher.lease = 10s: must be longer than"),
        "{words}"
    );
    let fits = tidings(&["config", "check"]);
    assert_eq!(fits.status.code(), Some(0), "{}", text(&fits));
}

#[test]
fn a_store_of_contents_that_is_half_given_is_named_with_the_other_half() {
    let checked = |variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
        command.args(["config", "check"]);
        let variables = variables.iter();
        command.envs(variables.map(|(key, value)| (format!("TIDINGS_CLAIM_CHECK__{key}"), value)));
        let checked = command.output().unwrap();
        assert_eq!(checked.status.code(), Some(4));
        text(&checked)
    };
    let scheme = checked(&[("STORE", "gcs")]);
    assert!(scheme.contains("`none`, `folder`, `s3`"), "{scheme}");
    let folder = checked(&[("STORE", "folder")]);
    let remedy = "claim_check.folder = (not set): name the folder by its absolute path";
    assert!(folder.contains(remedy), "{folder}");
    let half = checked(&[
        ("STORE", "s3"),
        ("S3__BUCKET", "contents"),
        ("S3__ACCESS_KEY_ID", "A"),
    ]);
    let remedy = "claim_check.s3.secret_access_key_file = (not set): set access_key_id and";
    assert!(half.starts_with(remedy), "{half}");
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&tidings(&["completions", shell]));
        assert!(
            script.contains("dispatcher") && script.contains("doctor"),
            "{shell}"
        );
    }
}

#[test]
fn help_of_a_command_shows_how_it_is_used() {
    for command in ["relay", "dispatcher", "migrate", "doctor", "completions"] {
        let help = text(&tidings(&[command, "--help"]));
        assert!(
            help.contains(&format!("tidings {command} ")),
            "{command}: {help}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_command_that_is_interrupted_ends_with_5() {
    use std::io::Read as _;
    use std::net::TcpListener;
    // A registry that never answers keeps doctor busy, and tells when it is.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    let url = format!("http://{}", silent.local_addr().unwrap());
    let mut doctor = command
        .args(["doctor", "--deadline", "600"])
        .env("TIDINGS_REGISTRY__URL", url)
        .env("TIDINGS_REGISTRY__REQUEST_TIMEOUT", "600s")
        .spawn()
        .unwrap();
    let (mut asked, _) = silent.accept().unwrap();
    assert!(asked.read(&mut [0; 16]).unwrap() > 0);
    let interrupted = Command::new("kill")
        .args(["-INT", &doctor.id().to_string()])
        .status()
        .unwrap();
    assert!(interrupted.success());
    assert_eq!(doctor.wait().unwrap().code(), Some(5));
}

#[test]
fn a_content_without_a_store_is_refused_with_the_remedy() {
    let refused = tidings(&["claim-check", "put", "Cargo.toml"]);
    assert_eq!(refused.status.code(), Some(4));
    let words = String::from_utf8(refused.stderr).unwrap();
    assert!(words.contains("set it to folder or s3"), "{words}");
}
