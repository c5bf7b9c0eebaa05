//! Whatever happens to the process with the stack, its servers do not outlive it. That process is this test binary
//! again, running [`holds_a_stack`] only.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::talk;
use tidings_stack::{Part, Stack, StackOptions};

/// Set, to a folder, for the process that holds stacks; otherwise [`holds_a_stack`] does nothing.
const HOLDER: &str = "TIDINGS_STACK_TEST_HOLDER";
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test]
async fn servers_die_with_a_killed_process_and_the_next_stack_takes_over() {
    let mut holder = Holder::start("killed");
    assert!(holder.servers.iter().all(|pid| is_running(*pid)));
    holder.process.kill().unwrap();
    holder.process.wait().unwrap();
    // At once: the frozen server may still be ending on the same data.
    let next = Stack::start(nothing_but_postgres(&kept_folder("killed"), false))
        .await
        .unwrap();
    assert_eq!(talk::find_row(&next).await, "here");
    assert!(
        !holder.temporary_folder.exists(),
        "the next stack has not swept it"
    );
    holder.wait_until_servers_are_gone();
}

#[tokio::test]
async fn a_shared_stack_ends_when_its_process_exits() {
    let mut holder = Holder::start("exited");
    drop(holder.process.stdin.take());
    assert!(holder.process.wait().unwrap().success());
    assert_eq!(
        holder
            .servers
            .iter()
            .filter(|pid| is_running(**pid))
            .count(),
        0
    );
    assert!(!holder.temporary_folder.exists());
    std::fs::remove_dir_all(kept_folder("exited")).unwrap();
}

/// Starts the shared stack, and in a kept folder another with a frozen server (the hardest one to end); says what it has
/// started, then waits for the end of its input.
#[tokio::test]
async fn holds_a_stack() {
    let Some(kept_folder) = std::env::var_os(HOLDER) else {
        return;
    };
    let frozen = Stack::start(nothing_but_postgres(Path::new(&kept_folder), true))
        .await
        .unwrap();
    talk::leave_row(&frozen).await;
    frozen.pause(Part::Postgres).await.unwrap();
    let stack = Stack::shared().await.unwrap();
    let mut out = std::io::stdout();
    for (stack, part) in Part::ALL
        .map(|part| (stack, part))
        .into_iter()
        .chain([(&frozen, Part::Postgres)])
    {
        writeln!(out, "pid {}", stack.pid(part).await.unwrap().unwrap()).unwrap();
    }
    writeln!(out, "folder {}", stack.folder().unwrap().display()).unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    // As a stack in a static: nobody drops it.
    std::mem::forget(frozen);
}

struct Holder {
    process: Child,
    /// Open until the end: who prints into a closed pipe panics.
    output: Option<BufReader<ChildStdout>>,
    servers: Vec<u32>,
    temporary_folder: PathBuf,
}

impl Holder {
    fn start(name: &str) -> Self {
        let process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "death::holds_a_stack", "--nocapture"])
            .env(HOLDER, kept_folder(name))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut holder = Self {
            process,
            output: None,
            servers: Vec::new(),
            temporary_folder: PathBuf::new(),
        };
        holder.listen();
        holder
    }

    fn listen(&mut self) {
        let output = self
            .output
            .insert(BufReader::new(self.process.stdout.take().unwrap()));
        let mut line = String::new();
        while output.read_line(&mut line).unwrap() > 0 {
            if let Some((_, pid)) = line.trim_end().split_once("pid ") {
                self.servers.push(pid.parse().unwrap());
            } else if let Some(folder) = line.trim_end().strip_prefix("folder ") {
                self.temporary_folder = folder.into();
                return;
            }
            line.clear();
        }
        panic!("the holder has ended without a stack");
    }

    fn wait_until_servers_are_gone(&self) {
        let started = Instant::now();
        while let Some(pid) = self.servers.iter().find(|pid| is_running(**pid)) {
            assert!(
                started.elapsed() < PATIENCE,
                "server {pid} has outlived its stack"
            );
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        if self.process.kill().is_ok() {
            self.process.wait().ok();
        }
    }
}

/// One that waits to be reaped (state Z) does not run.
fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"))
        .unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn kept_folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("stack-test-{name}-{}", std::process::id()))
}

fn nothing_but_postgres(folder: &Path, keep: bool) -> StackOptions {
    let mut options = StackOptions {
        folder: Some(folder.to_owned()),
        keep,
        ..StackOptions::default()
    };
    options.existing.kafka_brokers = Some("127.0.0.1:1".to_owned());
    options.existing.registry_url = Some("http://127.0.0.1:1".to_owned());
    options
}
