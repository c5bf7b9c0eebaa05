//! A TCP proxy before any server, for faults of the network between one role and that server.

mod connection;
mod door;
mod serve;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::DrillError;

use door::Door;
use serve::{Order, Serve};

/// The network between the proxy's clients and its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Network {
    /// Everything arrives, so much later.
    Carries { delay: Duration },
    /// Connections stay and new ones are made; nothing arrives.
    Silent,
    /// No connection stays, none is made.
    Cut,
}

/// A proxy on loopback. It carries all bytes until it is told otherwise, and ends when it is dropped, its connections too.
///
/// At most 1,024 connections are open at once; later ones wait. A connection holds at most 2 MiB in each direction (64
/// reads of 16 KiB, of which the last may be under way); then its sender has to wait, as for a slow network.
pub struct Proxy {
    address: SocketAddr,
    server: String,
    orders: mpsc::Sender<Order>,
    serving: JoinHandle<()>,
}

impl Proxy {
    /// A proxy on a free port of loopback before `server` (`host:port`), which need not be there yet.
    ///
    /// # Errors
    /// [`DrillError::System`] when no port is free.
    pub async fn start(server: impl Into<String>) -> Result<Self, DrillError> {
        Self::start_at((Ipv4Addr::LOCALHOST, 0).into(), server).await
    }

    /// The same at `address`, for servers that tell their clients where they are (Kafka: `Stack::kafka_detour`).
    ///
    /// # Errors
    /// [`DrillError::System`] when the port is taken.
    pub async fn start_at(
        address: SocketAddr,
        server: impl Into<String>,
    ) -> Result<Self, DrillError> {
        let server = server.into();
        let starting = DrillError::system(format!("start a proxy before {server}"));
        let door = Door::at(address).map_err(starting)?;
        let address = door.address();
        let (orders, to_obey) = mpsc::channel(1);
        let serve = Serve::new(door, server.clone());
        let proxy = Self {
            address,
            server,
            orders,
            serving: tokio::spawn(serve.run(to_obey)),
        };
        proxy.heal().await?;
        Ok(proxy)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A URL, or another text, that names the server as `host:port`, with the proxy in its place.
    #[must_use]
    pub fn in_place(&self, url: &str) -> String {
        url.replace(&self.server, &self.address.to_string())
    }

    /// Closes all connections and refuses new ones. Returns when it is so, as all of these do.
    ///
    /// # Errors
    /// [`DrillError::System`] when the proxy has ended, as for all of these.
    pub async fn cut(&self) -> Result<(), DrillError> {
        self.change(Network::Cut).await
    }

    /// Keeps connections and takes new ones, and carries nothing, not even their ends. What is sent meanwhile arrives
    /// after [`heal`](Self::heal), as after an outage of the network that TCP has survived.
    ///
    /// # Errors
    /// Also when it can not listen again after a cut, as for the next two.
    pub async fn freeze(&self) -> Result<(), DrillError> {
        self.change(Network::Silent).await
    }

    /// Lets everything arrive so much later, in each direction. Does not limit how much.
    ///
    /// # Errors
    /// As [`freeze`](Self::freeze).
    pub async fn delay(&self, delay: Duration) -> Result<(), DrillError> {
        self.change(Network::Carries { delay }).await
    }

    /// Ends every fault.
    ///
    /// # Errors
    /// As [`freeze`](Self::freeze).
    pub async fn heal(&self) -> Result<(), DrillError> {
        self.delay(Duration::ZERO).await
    }

    async fn change(&self, network: Network) -> Result<(), DrillError> {
        let (done, is_done) = oneshot::channel();
        let order = Order { network, done };
        let ended = || Err(io::Error::other("the proxy has ended"));
        let changed = match self.orders.send(order).await {
            Ok(()) => is_done.await.unwrap_or_else(|_| ended()),
            Err(_) => ended(),
        };
        changed.map_err(DrillError::system(format!(
            "change the proxy before {}",
            self.server
        )))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
