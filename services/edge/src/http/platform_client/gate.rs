//! The last moment at which a request may leave, looked at where its bytes are handed to the connection.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The request could not leave in time, and no byte of it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the request could not leave in time")]
pub struct TooLate;

/// A body that is given to its connection until a moment, and refused after it. HTTP/1.1 writes a request's head together
/// with the first bytes of its body, so what is refused leaves nothing.
pub(super) struct Gate {
    bytes: Option<Bytes>,
    leave_by: Option<Instant>,
    kept_back: KeptBack,
}

/// Whether a gate refused its body.
#[derive(Clone, Default)]
pub(super) struct KeptBack(Arc<AtomicBool>);

impl KeptBack {
    pub(super) fn is_so(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Gate {
    pub(super) fn new(body: Vec<u8>, leave_by: Option<Instant>) -> (Self, KeptBack) {
        let kept_back = KeptBack::default();
        let gate = Self {
            bytes: (!body.is_empty()).then(|| body.into()),
            leave_by,
            kept_back: kept_back.clone(),
        };
        (gate, kept_back)
    }
}

impl Body for Gate {
    type Data = Bytes;
    type Error = TooLate;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TooLate>>> {
        let Some(bytes) = self.bytes.take() else {
            return Poll::Ready(None);
        };
        if self.leave_by.is_some_and(|at| at < Instant::now()) {
            self.kept_back.0.store(true, Ordering::Release);
            return Poll::Ready(Some(Err(TooLate)));
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let left = self.bytes.as_ref().map_or(0, Bytes::len);
        SizeHint::with_exact(u64::try_from(left).unwrap_or(u64::MAX))
    }
}
