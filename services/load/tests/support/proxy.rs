//! A connection to Postgres that breaks at a commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::Upstream;

/// Commits until one is cut.
const EVERY: u32 = 9;

/// Where the connection breaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The commit never reaches the server.
    BeforeCommit,
    /// The server commits, and its answer never reaches the client.
    AfterCommit,
}

/// Forwards connections, and cuts every ninth commit.
pub struct Proxy {
    pub url: String,
}

impl Proxy {
    pub async fn before(upstream: &Upstream, cut: Cut) -> Self {
        let config: Config = upstream.url.parse().unwrap();
        let [Host::Tcp(host)] = config.get_hosts() else {
            panic!("expected one TCP host");
        };
        let target = format!("{host}:{}", config.get_ports()[0]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let url = upstream.url.replace(&target, &address);
        assert_ne!(url, upstream.url);
        tokio::spawn(async move {
            let commits = Arc::new(AtomicU32::new(0));
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&target).await.unwrap();
                tokio::spawn(forward(client, server, cut, Arc::clone(&commits)));
            }
        });
        Self { url }
    }
}

/// Ends with the first error or cut; that closes both sides.
async fn forward(
    mut client: TcpStream,
    mut server: TcpStream,
    cut: Cut,
    commits: Arc<AtomicU32>,
) -> std::io::Result<()> {
    let (mut from_client, mut from_server) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => {
                let bytes = &from_client[..read?];
                let commit = bytes.ends_with(b"commit\0");
                let cut_now = commit && commits.fetch_add(1, Ordering::Relaxed) % EVERY == EVERY - 1;
                if bytes.is_empty() || (cut_now && cut == Cut::BeforeCommit) {
                    return Ok(());
                }
                server.write_all(bytes).await?;
                if cut_now {
                    // Its answer: the commit is done.
                    let _answer = server.read(&mut from_server).await?;
                    return Ok(());
                }
            }
            read = server.read(&mut from_server) => {
                match read? {
                    0 => return Ok(()),
                    bytes => client.write_all(&from_server[..bytes]).await?,
                }
            }
        }
    }
}
