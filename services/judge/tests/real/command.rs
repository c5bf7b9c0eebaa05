//! The program `tidings-judge`: what it prints, and how it ends.

use crate::world::World;
use serde_json::Value;
use tidings_judge::gather::SimulatorLog;
use tokio::process::Command;

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    fn last_line(&self) -> Value {
        serde_json::from_str(self.out.lines().last().unwrap()).unwrap()
    }
}

async fn judge(arguments: &[&str], variables: &[(&str, &str)]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings-judge"));
    command.args(arguments).envs(variables.iter().copied());
    let output = command.output().await.unwrap();
    Said {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

async fn judge_world(world: &World, more: &[&str]) -> Said {
    let SimulatorLog::File(log) = &world.inputs.simulator else {
        panic!("expected a file");
    };
    let group = format!("{}-group", world.prefix);
    let mut arguments = vec!["--simulator-log", log.to_str().unwrap()];
    arguments.extend(["--brokers", &world.brokers, "--prefix", &world.prefix]);
    arguments.extend(["--group", &group, "--quiesce-seconds", "1"]);
    arguments.extend(more);
    let variables = [
        ("TIDINGS_JUDGE_UPSTREAM", world.inputs.upstream_url.as_str()),
        ("TIDINGS_JUDGE_STATE", world.inputs.state_url.as_str()),
    ];
    judge(&arguments, &variables).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_promise_is_a_table_an_object_and_exit_0() {
    let world = World::delivered().await;
    let said = judge_world(&world, &["--require-delivery"]).await;
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert!(said.out.starts_with("judge: PASSED"));
    assert_eq!(said.last_line()["ok"], true);
    assert_eq!(said.last_line()["lost"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_promise_is_exit_1() {
    let world = World::delivered().await;
    world.forget(world.some_message().await).await;
    let said = judge_world(&world, &[]).await;
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
    assert!(said.out.starts_with("judge: FAILED"));
    assert_eq!(said.last_line()["failures"], serde_json::json!(["lost"]));
    let only_json = judge_world(&world, &["--json"]).await;
    assert_eq!(only_json.out.lines().count(), 1);
    assert_eq!(only_json.last_line()["lost"], 1);
}

#[tokio::test]
async fn unreadable_evidence_is_exit_1_and_names_the_remedy_without_the_password() {
    let url = "postgres://user:s3cret@127.0.0.1:9/nowhere";
    let arguments = [
        "--upstream",
        url,
        "--state",
        url,
        "--simulator",
        "http://127.0.0.1:9",
    ];
    let said = judge(&[&arguments[..], &["--quiesce-seconds", "0"]].concat(), &[]).await;
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("check --upstream"), "{}", said.err);
    assert_eq!(said.last_line()["ok"], false);
    assert!(!format!("{}{}", said.out, said.err).contains("s3cret"));
}

#[tokio::test]
async fn wrong_usage_is_exit_2() {
    assert_eq!(judge(&["--nonsense"], &[]).await.code, Some(2));
    let no_log = ["--upstream", "postgres://h", "--state", "postgres://h"];
    assert_eq!(judge(&no_log, &[]).await.code, Some(2));
}
