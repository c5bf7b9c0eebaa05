//! `tidings limits` beside a dispatcher: what is in force, what an operator changes, and a topic that holds nothing.

use std::process::Command;

use serde_json::Value;
use tidings_drill::LimitTopic;
use tidings_tests::binary;

use crate::world::{World, until};

const ACCOUNT: &str = "telegram:main";

/// What the command said, and how it ended.
#[derive(Debug)]
struct Said {
    code: Option<i32>,
    text: String,
    errors: String,
}

impl Said {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Refused or not found, with these words, and nothing printed as if it had been done.
    fn assert_refused(&self, code: i32, words: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.errors.contains(words), "{words}: {self:?}");
        assert!(self.text.is_empty(), "{self:?}");
    }

    fn assert_done(&self, words: &str) {
        assert_eq!(self.code, Some(0), "{self:?}");
        assert!(self.text.contains(words), "{words}: {self:?}");
    }
}

fn limits(world: &World, arguments: &[&str]) -> Said {
    let mut command = Command::new(binary());
    command.arg("limits").args(arguments);
    command.arg("--config").arg(world.deployment.config_file());
    let output = command.output().unwrap();
    let words = |bytes| String::from_utf8(bytes).unwrap();
    Said {
        code: output.status.code(),
        text: words(output.stdout),
        errors: words(output.stderr),
    }
}

/// One that changes something, by name and with a reason.
fn change(world: &World, arguments: &[&str]) -> Said {
    let who = ["--operator", "tester", "--reason", "to see it"];
    limits(world, &[arguments, &who].concat())
}

/// Waits until the account is in the log.
async fn known(world: &World) {
    until("the log knows the account", async || {
        limits(world, &[]).code == Some(0)
    })
    .await;
}

async fn penalties(world: &World) -> i64 {
    let sql = "select count(*) from tidings_delivery.penalties where ends_at > clock_timestamp()";
    world.state.query_one(sql, &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_force_is_shown_and_changed_while_everything_runs() {
    let world = World::new().await;
    limits(&world, &[]).assert_refused(3, "holds nothing yet");
    let (_relay, _dispatcher) = (world.relay().await, world.dispatcher(1).await);
    known(&world).await;

    let shown = limits(&world, &[]);
    shown.assert_done(ACCOUNT);
    shown.assert_done("limit    the account: 1000 in any 1s");
    shown.assert_done("now      0 used");
    let line = limits(&world, &["--json", "--account", ACCOUNT]).json();
    assert_eq!(line["account"], ACCOUNT);
    assert_eq!(line["limits"]["account"][0]["count"], 1000);
    assert_eq!(line["holds"], Value::Array(Vec::new()));

    let set = ["set", ACCOUNT, "--no-exact", "--window", "200/1s"];
    change(&world, &set).assert_done("telegram:main: the account: 200 in any 1s");
    let line = limits(&world, &["--json"]).json();
    assert_eq!(line["limits"]["account"][0]["count"], 200);
    let set = change(&world, &["set", ACCOUNT, "--chat", "1/2s", "--json"]).json();
    assert_eq!(set["account"], ACCOUNT);
    assert_eq!(set["limits"]["chat"][1]["period_ms"], 2000, "{set}");
    limits(&world, &[]).assert_done("each chat: 1 in any 1s, 1 in any 2s");

    let message = world.say(5, "within the new limits").await;
    assert_eq!(world.settled(message).await.0, "delivered");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_is_held_until_it_is_reset_and_the_others_are_not() {
    let world = World::new().await;
    let (_relay, _dispatcher) = (world.relay().await, world.dispatcher(1).await);
    known(&world).await;
    let hold = ["penalise", ACCOUNT, "--chat", "-42", "--for", "10m"];
    change(&world, &hold).assert_done("chat -42 of telegram:main: held for 10m");
    until("the hold is kept", async || penalties(&world).await == 1).await;
    let held = world.say(-42, "later").await;
    let other = world.say(43, "now").await;
    assert_eq!(world.settled(other).await.0, "delivered");
    assert!(world.calls(-42).is_empty());

    limits(&world, &[]).assert_done("held     chat -42 of telegram:main for ");
    let hold = &limits(&world, &["--json"]).json()["holds"][0];
    assert_eq!(
        (&hold["held"], &hold["chat_id"]),
        (&"chat".into(), &"-42".into())
    );
    assert!(hold["remaining_ms"].as_u64().unwrap() <= 600_000, "{hold}");
    assert!(hold["ends_at"].as_str().unwrap().ends_with('Z'), "{hold}");

    let reset = change(&world, &["reset", ACCOUNT, "--chat", "-42", "--json"]).json();
    assert_eq!(
        (&reset["chat_id"], &reset["remaining_ms"]),
        (&"-42".into(), &0.into())
    );
    assert_eq!(world.settled(held).await.0, "delivered");
    assert_eq!(penalties(&world).await, 0);
    let line = limits(&world, &["--json"]).json();
    assert_eq!(line["holds"], Value::Array(Vec::new()));

    change(&world, &["penalise", ACCOUNT, "--address", "--for", "2m"])
        .assert_done("our address at telegram: held for 2m");
    let lines = limits(&world, &["--json"]);
    assert_eq!(lines.text.lines().count(), 2, "{lines:?}");
    assert!(lines.text.contains(r#""held":"address""#), "{lines:?}");
    change(&world, &["reset", ACCOUNT, "--address"]).assert_done("not held any more");
    let message = world.say(43, "again").await;
    assert_eq!(world.settled(message).await.0, "delivered");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_is_refused_and_changes_nothing() {
    let world = World::new().await;
    let _dispatcher = world.dispatcher(1).await;
    known(&world).await;
    let before = limits(&world, &["--json"]).json()["limits"].clone();
    let long = "x".repeat(2_000);
    let refused = |arguments: &[&str], words: &str| {
        limits(&world, arguments).assert_refused(4, words);
    };
    refused(
        &[
            "penalise",
            ACCOUNT,
            "--for",
            "0s",
            "--operator",
            "t",
            "--reason",
            "r",
        ],
        "--for: must be longer than nothing",
    );
    refused(
        &["reset", ACCOUNT, "--operator", "t", "--reason", " "],
        "--reason: give 1 to",
    );
    refused(
        &["reset", ACCOUNT, "--operator", &long, "--reason", "r"],
        "--operator: give 1 to",
    );
    refused(
        &[
            "set",
            ACCOUNT,
            "--preset",
            "carrier-pigeon",
            "--operator",
            "t",
            "--reason",
            "r",
        ],
        "carrier-pigeon",
    );
    for usage in [
        &["set", ACCOUNT, "--window", "20/1s", "--operator", "t"][..],
        &[
            "set",
            ACCOUNT,
            "--window",
            "many",
            "--operator",
            "t",
            "--reason",
            "r",
        ],
        &[
            "penalise",
            ACCOUNT,
            "--for",
            "soon",
            "--operator",
            "t",
            "--reason",
            "r",
        ],
        &["--account", ACCOUNT, "reset", ACCOUNT],
    ] {
        assert_eq!(limits(&world, usage).code, Some(2), "{usage:?}");
    }
    let nobody = "does not know account telegram:nobody";
    change(&world, &["set", "telegram:nobody", "--window", "1/1s"]).assert_refused(3, nobody);
    change(&world, &["reset", "telegram:nobody"]).assert_refused(3, nobody);
    limits(&world, &["--account", "telegram:nobody"]).assert_refused(3, "telegram:nobody");
    assert_eq!(limits(&world, &["--json"]).json()["limits"], before);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_an_emptied_topic_it_is_said_what_to_do() {
    let world = World::new().await;
    let mut dispatcher = world.dispatcher(1).await;
    known(&world).await;
    let log = limits(&world, &["--json"]).json()["log_id"].clone();
    let topic = LimitTopic::new(world.deployment.config().unwrap()).unwrap();
    // A snapshot may fall due right after.
    until("the log lacks its beginning", async || {
        topic.empty().await.unwrap();
        limits(&world, &[]).code == Some(3)
    })
    .await;
    topic.empty().await.unwrap();
    let asked = limits(&world, &["--ask", "--json"]);
    asked.assert_done(ACCOUNT);
    assert_eq!(asked.json()["log_id"], log, "it is the same log");
    limits(&world, &[]).assert_done(ACCOUNT);

    dispatcher
        .stop(std::time::Duration::from_secs(20))
        .await
        .unwrap();
    topic.empty().await.unwrap();
    limits(&world, &[]).assert_refused(3, "`tidings limits --ask`");
    limits(&world, &["--ask"]).assert_refused(3, "the next one that starts begins anew");
    let reset = change(&world, &["reset", ACCOUNT]);
    reset.assert_refused(3, "begins anew");
    assert!(reset.errors.contains("nothing was changed"), "{reset:?}");

    let _dispatcher = world.dispatcher(2).await;
    known(&world).await;
    assert_ne!(limits(&world, &["--json"]).json()["log_id"], log);
}
