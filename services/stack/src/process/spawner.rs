//! The one thread that starts all children. The kernel sends a child its parent-death signal when the *thread* that
//! started it ends, and threads of a runtime come and go; this one stays as long as the process.

use std::io;
use std::process::{Child, Command};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use tokio::sync::oneshot;

use super::system::{self, Signal};

struct Request {
    command: Command,
    reply: oneshot::Sender<io::Result<Child>>,
}

/// Starts a child that gets `death_signal` when this process ends, however it ends.
pub(super) async fn spawn(mut command: Command, death_signal: Signal) -> io::Result<Child> {
    system::tie_to_this_process(&mut command, death_signal);
    let (reply, answer) = oneshot::channel();
    requests()?
        .send(Request { command, reply })
        .map_err(io::Error::other)?;
    answer.await.map_err(io::Error::other)?
}

fn requests() -> io::Result<mpsc::Sender<Request>> {
    static REQUESTS: Mutex<Option<mpsc::Sender<Request>>> = Mutex::new(None);
    let mut slot = REQUESTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(requests) = &*slot {
        return Ok(requests.clone());
    }
    let (requests, queue) = mpsc::channel();
    thread::Builder::new()
        .name("stack-spawner".to_owned())
        .spawn(move || serve(&queue))?;
    Ok(slot.insert(requests).clone())
}

fn serve(queue: &mpsc::Receiver<Request>) {
    while let Ok(Request { mut command, reply }) = queue.recv() {
        if let Err(Ok(mut unwanted)) = reply.send(command.spawn()) {
            // Who asked has gone; nobody else knows this child. If it has ended already, there is nothing to kill.
            let _ = unwanted.kill().and_then(|()| unwanted.wait());
        }
    }
}
