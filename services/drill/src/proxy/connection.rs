use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::Network;

/// The most bytes that one read takes.
const READ_BYTES: usize = 16 * 1_024;

/// Reads that are on their way in one direction.
const ON_THE_WAY: usize = 64;

/// What was read, and when it arrives on the other side.
struct Chunk {
    bytes: Vec<u8>,
    due: Instant,
}

/// Carries a connection to the server until both sides have ended it or one breaks.
pub(super) async fn carry(
    client: TcpStream,
    server: &str,
    mut network: watch::Receiver<Network>,
) -> io::Result<()> {
    until_it_carries(&mut network).await?;
    let server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::try_join!(
        one_way(from_client, to_server, network.clone()),
        one_way(from_server, to_client, network),
    )?;
    Ok(())
}

async fn one_way(
    from: OwnedReadHalf,
    to: OwnedWriteHalf,
    network: watch::Receiver<Network>,
) -> io::Result<()> {
    let (chunks, on_the_way) = mpsc::channel(ON_THE_WAY);
    tokio::try_join!(
        take(from, chunks, network.clone()),
        give(on_the_way, to, network),
    )?;
    Ok(())
}

async fn take(
    mut from: OwnedReadHalf,
    chunks: mpsc::Sender<Chunk>,
    network: watch::Receiver<Network>,
) -> io::Result<()> {
    loop {
        let mut bytes = vec![0; READ_BYTES];
        let read = from.read(&mut bytes).await?;
        bytes.truncate(read);
        let due = Instant::now() + delay(*network.borrow());
        // The other half ends first only with an error, which ends both.
        if read == 0 || chunks.send(Chunk { bytes, due }).await.is_err() {
            return Ok(());
        }
    }
}

async fn give(
    mut on_the_way: mpsc::Receiver<Chunk>,
    mut to: OwnedWriteHalf,
    mut network: watch::Receiver<Network>,
) -> io::Result<()> {
    while let Some(Chunk { bytes, due }) = on_the_way.recv().await {
        sleep_until(due).await;
        until_it_carries(&mut network).await?;
        to.write_all(&bytes).await?;
    }
    until_it_carries(&mut network).await?;
    to.shutdown().await
}

fn delay(network: Network) -> Duration {
    match network {
        Network::Carries { delay } => delay,
        Network::Silent | Network::Cut => Duration::ZERO,
    }
}

async fn until_it_carries(network: &mut watch::Receiver<Network>) -> io::Result<()> {
    let carries = |network: &Network| matches!(network, Network::Carries { .. });
    match network.wait_for(carries).await {
        Ok(_) => Ok(()),
        Err(_) => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}
