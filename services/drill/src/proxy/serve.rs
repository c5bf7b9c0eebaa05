use std::future::pending;
use std::io;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::connection::carry;
use super::{Door, Network};

/// Connections at once: far more than any role makes.
const CONNECTIONS: usize = 1_024;

/// The pause after the system refused a connection that was to be had (too many open files).
const TAKE_AGAIN: Duration = Duration::from_millis(10);

/// A change that is acknowledged once it holds.
pub(super) struct Order {
    pub(super) network: Network,
    pub(super) done: oneshot::Sender<io::Result<()>>,
}

/// The task of a proxy, which owns everything.
pub(super) struct Serve {
    door: Door,
    server: String,
    listener: Option<TcpListener>,
    network: watch::Sender<Network>,
    connections: JoinSet<()>,
}

impl Serve {
    pub(super) fn new(door: Door, server: String) -> Self {
        Self {
            door,
            server,
            listener: None,
            network: watch::Sender::new(Network::Cut),
            connections: JoinSet::new(),
        }
    }

    pub(super) async fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some(Order { network, done }) => {
                        let changed = self.change(network).await;
                        // Whoever asked may have gone.
                        let _ = done.send(changed);
                    }
                    None => return,
                },
                Some(_ended) = self.connections.join_next() => {}
                client = take(self.listener.as_ref()), if self.connections.len() < CONNECTIONS => {
                    self.connect(client);
                }
            }
        }
    }

    async fn change(&mut self, network: Network) -> io::Result<()> {
        match network {
            Network::Cut => {
                self.listener = None;
                self.connections.shutdown().await;
            }
            Network::Silent | Network::Carries { .. } if self.listener.is_none() => {
                self.listener = Some(self.door.open()?);
            }
            Network::Silent | Network::Carries { .. } => {}
        }
        self.network.send_replace(network);
        Ok(())
    }

    fn connect(&mut self, client: TcpStream) {
        let (server, network) = (self.server.clone(), self.network.subscribe());
        self.connections.spawn(async move {
            // A side that breaks or refuses ends both, as a broken network would.
            let _ = carry(client, &server, network).await;
        });
    }
}

/// The next connection; none while nobody listens.
async fn take(listener: Option<&TcpListener>) -> TcpStream {
    let Some(listener) = listener else {
        return pending().await;
    };
    loop {
        match listener.accept().await {
            Ok((client, _)) => return client,
            Err(_) => sleep(TAKE_AGAIN).await,
        }
    }
}
