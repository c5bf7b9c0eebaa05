use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// Connections that may wait to be taken.
const BACKLOG: u32 = 128;

/// A port that stays ours while nobody listens: the system gives a bound port to no outgoing connection, not even to that of
/// a client who tries to reach it and would so meet itself.
pub(super) struct Door {
    _held: TcpSocket,
    address: SocketAddr,
}

impl Door {
    pub(super) fn at(address: SocketAddr) -> io::Result<Self> {
        let held = bound(address)?;
        let address = held.local_addr()?;
        Ok(Self {
            _held: held,
            address,
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Listens until the listener is dropped; then connections are refused.
    pub(super) fn open(&self) -> io::Result<TcpListener> {
        bound(self.address)?.listen(BACKLOG)
    }
}

/// Both options: a port may be bound twice, and while connections of before linger on it.
fn bound(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseport(true)?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}
