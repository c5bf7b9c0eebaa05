//! Connections that can be cut in the middle of a call: closed or reset, with no byte of an answer.
//!
//! The server below knows only answers. So the call marks its connection, and the stream under the server fails at the
//! first byte that would be written after that; the server then drops it, which closes the socket.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How long accepting pauses after it failed (no file descriptors left, for example).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A call's handle on its connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connection {
    marks: Arc<Marks>,
}

#[derive(Debug, Default)]
struct Marks {
    cut: AtomicBool,
    reset: AtomicBool,
}

impl Connection {
    /// Ends the connection: whatever is answered from now on reaches nobody.
    pub(crate) fn close(&self) {
        self.marks.cut.store(true, Ordering::Release);
    }

    /// As [`Connection::close`], but the peer gets a reset in place of an orderly end.
    pub(crate) fn reset(&self) {
        self.marks.reset.store(true, Ordering::Release);
        self.close();
    }
}

impl Connected<IncomingStream<'_, CuttableListener>> for Connection {
    fn connect_info(stream: IncomingStream<'_, CuttableListener>) -> Self {
        stream.io().connection.clone()
    }
}

/// Accepts [`CuttableStream`]s, a bounded number at once.
pub(crate) struct CuttableListener {
    listener: TcpListener,
    free: Arc<Semaphore>,
}

impl CuttableListener {
    pub(crate) fn new(listener: TcpListener, connections: usize) -> Self {
        Self {
            listener,
            free: Arc::new(Semaphore::new(connections)),
        }
    }
}

impl Listener for CuttableListener {
    type Io = CuttableStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        // Acquiring fails only on a closed semaphore, and this one is never closed.
        let permit = Arc::clone(&self.free).acquire_owned().await.ok();
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => return (CuttableStream::new(stream, permit), address),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection's bytes, until it is cut.
pub(crate) struct CuttableStream {
    stream: TcpStream,
    connection: Connection,
    _permit: Option<OwnedSemaphorePermit>,
}

impl CuttableStream {
    fn new(stream: TcpStream, permit: Option<OwnedSemaphorePermit>) -> Self {
        // Without it answers wait for the peer's acknowledgements; failing costs time, nothing else.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "no TCP_NODELAY");
        }
        Self {
            stream,
            connection: Connection::default(),
            _permit: permit,
        }
    }

    fn check(&self) -> io::Result<()> {
        let marks = &self.connection.marks;
        if !marks.cut.load(Ordering::Acquire) {
            return Ok(());
        }
        if marks.reset.load(Ordering::Acquire) {
            self.stream.set_zero_linger()?;
        }
        Err(io::ErrorKind::ConnectionAborted.into())
    }
}

impl AsyncRead for CuttableStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for CuttableStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
