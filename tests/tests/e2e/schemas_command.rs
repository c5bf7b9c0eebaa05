//! `tidings schemas` against a real registry, and a relay that starts with a change that it must not register.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tidings_drill::RoleKind;

use tidings_tests::binary;

use crate::world::{PATIENCE, World};

const DECLARATION: &str = "owner = \"a\"\npolicy = \"resend\"\nretry = \"standard\"\non_dead = \"continue\"\non_stale = \"send\"\ntext = \"template\"\n";
const DATA: &str = r#"{"type":"record","name":"Data","fields":[{"name":"place","type":"string"}]}"#;

/// A folder with one event type, of a name that no other test registers.
struct Types {
    folder: PathBuf,
    event: String,
}

impl Types {
    fn new(world: &World) -> Self {
        let folder = world.folder().join("schemas");
        let event = format!("{}.tested", world.deployment.place().prefix);
        fs::create_dir_all(folder.join(&event)).unwrap();
        let types = Self { folder, event };
        types.write("type.toml", DECLARATION);
        types.write("template.txt", "At {{ data.place }}");
        types.write("v1.avsc", DATA);
        types
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.folder.join(&self.event).join(file), text).unwrap();
    }
}

fn schemas(world: &World, types: &Types, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.arg("schemas").args(arguments);
    command.arg("--config").arg(world.deployment.config_file());
    command.arg("--folder").arg::<&Path>(&types.folder);
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_breaks_readers_is_refused_by_check_register_and_relay() {
    let world = World::new().await;
    let types = Types::new(&world);
    let registered = schemas(&world, &types, &["register", "--json"]);
    assert_eq!(registered.status.code(), Some(0), "{}", said(&registered));
    let id = serde_json::from_str::<Value>(&said(&registered)).unwrap()["schema_id"].clone();

    // A field with a default may come, and another text.
    let more = DATA.replace(
        "}]}",
        r#"},{"name":"note","type":["null","string"],"default":null}]}"#,
    );
    types.write("v1.avsc", &more);
    types.write("template.txt", "Now at {{ data.place }}");
    let checked = schemas(&world, &types, &["check"]);
    assert_eq!(checked.status.code(), Some(0), "{}", said(&checked));
    let registered = schemas(&world, &types, &["register"]);
    assert_eq!(registered.status.code(), Some(0), "{}", said(&registered));

    types.write("v1.avsc", &DATA.replace("\"string\"", "\"int\""));
    for command in ["check", "register"] {
        let refused = schemas(&world, &types, &[command]);
        assert_eq!(refused.status.code(), Some(4), "{}", said(&refused));
        let subject = format!("tidings.{}.v1.Envelope", types.event);
        let line = format!(
            "{subject}: data.place: changed its type from string to int (against registered version 1, schema id {id})"
        );
        assert!(said(&refused).contains(&line), "{}", said(&refused));
        assert!(
            said(&refused).contains("Remedy: keep the type"),
            "{}",
            said(&refused)
        );
    }
    assert_relay_refuses(&world, &types).await;

    let listed = schemas(&world, &types, &["list", "--json"]);
    let line: Value = serde_json::from_str(&said(&listed)).unwrap();
    assert_eq!(line["schema_ids"].as_array().unwrap().len(), 2, "{line}");
    assert_eq!(line["schema_ids"][0], id);
}

async fn assert_relay_refuses(world: &World, types: &Types) {
    let variables = vec![("TIDINGS_SCHEMAS__FOLDER", types.folder.clone().into())];
    let relay = world.deployment.role(RoleKind::Relay, 1);
    let mut relay = relay.with_environment(variables);
    relay.start().await.unwrap();
    let error = relay.ready(PATIENCE).await.unwrap_err().to_string();
    assert!(error.contains("data.place: changed its type"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_named_like_a_command_is_refused() {
    let world = World::new().await;
    let mut types = Types::new(&world);
    let command = types.event.replace(".tested", ".test");
    fs::rename(types.folder.join(&types.event), types.folder.join(&command)).unwrap();
    types.event = command;
    let refused = schemas(&world, &types, &["check"]);
    assert_eq!(refused.status.code(), Some(4));
    assert!(
        said(&refused).contains("\"test\" is not in the past tense"),
        "{}",
        said(&refused)
    );
    types.write("type.toml", &format!("{DECLARATION}kind = \"command\"\n"));
    let checked = schemas(&world, &types, &["check"]);
    assert_eq!(checked.status.code(), Some(0), "{}", said(&checked));
}
