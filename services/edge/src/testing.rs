//! Servers for this crate's own tests.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Accepts one connection, reads a request, writes `answer` and closes.
pub(crate) async fn serve_once(answer: Vec<u8>) -> SocketAddr {
    serve(move |mut connection| async move {
        read_request(&mut connection).await;
        connection.write_all(&answer).await.unwrap();
        connection.shutdown().await.unwrap();
    })
    .await
}

/// Hands the first connection to `handle`.
pub(crate) async fn serve<F, Handling>(handle: F) -> SocketAddr
where
    F: FnOnce(TcpStream) -> Handling + Send + 'static,
    Handling: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (connection, _) = listener.accept().await.unwrap();
        handle(connection).await;
    });
    address
}

/// Reads until the head and `content-length` bytes of body are there.
pub(crate) async fn read_request(connection: &mut TcpStream) -> Vec<u8> {
    let mut request = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        let count = connection.read(&mut buffer).await.unwrap();
        request.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&request).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .map_or(0, |length| length.parse::<usize>().unwrap());
            if body.len() >= length {
                return request;
            }
        }
        assert!(count > 0, "the request broke off");
    }
}
