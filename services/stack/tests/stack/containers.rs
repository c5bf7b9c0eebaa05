//! Containers do not outlive the process that started them, and are reached on loopback only. Only where
//! `TIDINGS_STACK=containers` says that there is a Docker. The process with the stack is this test binary again, running
//! [`holds_containers`] only.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tidings_stack::{Part, Stack};

/// Set for the process that holds the stack; otherwise [`holds_containers`] does nothing.
const HOLDER: &str = "TIDINGS_STACK_TEST_CONTAINERS_HOLDER";
const READY: &str = "the containers are there";
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn containers_are_on_loopback_and_die_with_a_killed_process() {
    if !is_asked_for() {
        return;
    }
    let mut holder = Holder::start();
    let ports = holder.containers("{{.Ports}}");
    assert_eq!(ports.len(), Part::ALL.len(), "{ports:?}");
    for published in ports.iter().flat_map(|ports| ports.split(", ")) {
        let on_loopback = published.starts_with("127.0.0.1:");
        assert!(on_loopback || !published.contains("->"), "{published}");
    }
    holder.process.kill().unwrap();
    holder.process.wait().unwrap();
    let started = Instant::now();
    while !holder.containers("{{.ID}}").is_empty() {
        assert!(
            started.elapsed() < PATIENCE,
            "a container outlives its process"
        );
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn containers_of_a_shared_stack_end_when_its_process_exits() {
    if !is_asked_for() {
        return;
    }
    let mut holder = Holder::start();
    drop(holder.process.stdin.take());
    assert!(holder.process.wait().unwrap().success());
    assert_eq!(holder.containers("{{.ID}}"), Vec::<String>::new());
}

#[tokio::test]
async fn holds_containers() {
    if std::env::var_os(HOLDER).is_none() {
        return;
    }
    Stack::shared().await.unwrap();
    println!("\n{READY}");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn is_asked_for() -> bool {
    std::env::var("TIDINGS_STACK").is_ok_and(|source| source == "containers")
}

struct Holder {
    process: Child,
    /// Open until the end: who prints into a closed pipe panics.
    _output: BufReader<ChildStdout>,
}

impl Holder {
    fn start() -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "containers::holds_containers", "--nocapture"])
            .env(HOLDER, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        while line.trim_end() != READY {
            line.clear();
            assert_ne!(
                output.read_line(&mut line).unwrap(),
                0,
                "it has ended without a stack"
            );
        }
        Self {
            process,
            _output: output,
        }
    }

    /// What Docker says, in `format`, of each container of this process.
    fn containers(&self, format: &str) -> Vec<String> {
        let format = format!("{{{{.Label \"tidings.stack.owner\"}}}}|{format}");
        let listed = Command::new("docker")
            .args(["ps", "--all", "--filter", "label=tidings.stack.owner"])
            .args(["--format", &format])
            .output()
            .unwrap();
        assert!(listed.status.success(), "{listed:?}");
        let of_this_process = format!("/{} ", self.process.id());
        String::from_utf8(listed.stdout)
            .unwrap()
            .lines()
            .filter_map(|line| line.split_once('|'))
            .filter(|(owner, _)| owner.contains(&of_this_process))
            .map(|(_, text)| text.to_owned())
            .collect()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        if self.process.kill().is_ok() {
            self.process.wait().ok();
        }
    }
}
