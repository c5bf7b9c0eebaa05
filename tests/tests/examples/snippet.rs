//! One publishing program, ready to run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tidings_tests::languages::{Language, Toolchain, bounded, jars, node_modules, python};
use tokio_postgres::config::Host;
use uuid::Uuid;

use crate::world::examples;

/// What a program said that it did.
#[derive(Debug)]
pub struct Said {
    pub published: Uuid,
    pub rolled_back: Uuid,
}

/// What a program is told to do.
pub struct Order<'a> {
    pub database: &'a str,
    pub chat: &'a str,
    pub id: &'a str,
}

/// Installs what the program needs, if nobody has yet, and runs it. `scratch` is a folder that does not exist yet.
pub fn publish(toolchain: &Toolchain, scratch: &Path, order: &Order<'_>) -> Said {
    let mut command = match toolchain.language {
        Language::Psql => psql(order),
        Language::Python => {
            let folder = examples().join("python");
            let mut command = bounded(python(toolchain, &folder.join("requirements.txt")).unwrap());
            command.arg(folder.join("publish.py"));
            with_arguments(command, order.database, order)
        }
        Language::Node => {
            let mut command = bounded("node");
            command.arg(staged_node(toolchain, scratch).join("publish.js"));
            with_arguments(command, order.database, order)
        }
        Language::Go => {
            let mut command = bounded("go");
            command
                .args(["run", "."])
                .current_dir(examples().join("go"));
            with_arguments(command, order.database, order)
        }
        Language::Java => java(toolchain, order),
    };
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{}: {}\n{said}\n{}",
        toolchain.language,
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    parse(toolchain.language, &said)
}

fn psql(order: &Order<'_>) -> Command {
    let mut command = bounded("psql");
    command
        .args([order.database, "-X", "-q"])
        .args(["-v", &format!("chat_id={}", order.chat)])
        .args(["-v", &format!("order_id={}", order.id)])
        .arg("-f")
        .arg(examples().join("psql").join("publish.sql"));
    command
}

fn java(toolchain: &Toolchain, order: &Order<'_>) -> Command {
    let folder = examples().join("java");
    let jars = jars(toolchain, &folder.join("pom.xml")).unwrap();
    let mut command = bounded("java");
    command.arg("-cp").arg(jars.join("*"));
    command.arg(folder.join("src/main/java/Publish.java"));
    with_arguments(command, &jdbc(order.database), order)
}

fn with_arguments(mut command: Command, database: &str, order: &Order<'_>) -> Command {
    command.args([database, order.chat, order.id]);
    command
}

/// Node looks for modules beside the program, and nothing is to be written into the repository.
fn staged_node<'a>(toolchain: &Toolchain, scratch: &'a Path) -> &'a Path {
    let folder = examples().join("node");
    let modules = node_modules(toolchain, &folder).unwrap();
    fs::create_dir(scratch).unwrap();
    for name in ["package.json", "publish.js"] {
        fs::copy(folder.join(name), scratch.join(name)).unwrap();
    }
    symlink(modules, scratch.join("node_modules")).unwrap();
    scratch
}

/// The same database as JDBC names it.
fn jdbc(url: &str) -> String {
    let config: tokio_postgres::Config = url.parse().unwrap();
    let [Host::Tcp(host)] = config.get_hosts() else {
        panic!("JDBC has no sockets of files");
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let user = config.get_user().unwrap();
    let password = config.get_password().map_or_else(String::new, |password| {
        format!("&password={}", String::from_utf8_lossy(password))
    });
    let database = config.get_dbname().unwrap();
    format!("jdbc:postgresql://{host}:{port}/{database}?user={user}{password}")
}

fn parse(language: Language, said: &str) -> Said {
    let lines: Vec<&str> = said.lines().collect();
    let [first, second] = lines.as_slice() else {
        panic!("{language} does not say two lines:\n{said}");
    };
    let id = |line: &str, word| {
        let id = line.strip_prefix(word).map(str::trim).map(Uuid::parse_str);
        id.unwrap_or_else(|| panic!("{language} does not say {word:?}:\n{said}"))
            .unwrap()
    };
    Said {
        published: id(first, "published"),
        rolled_back: id(second, "rolled back"),
    }
}
