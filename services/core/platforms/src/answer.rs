//! What a platform call ended with, as data.

use std::fmt;

/// How much of an answer's body a caller needs to read, in bytes. Telegram echoes the text: 4,096 characters take
/// up to 48 KiB in escaped JSON, and the message replied to as much again.
pub const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// The end of one platform call.
#[derive(Debug, Clone, Copy)]
pub enum Answer<'a> {
    /// An HTTP answer arrived.
    Response {
        /// The HTTP status.
        status: u16,
        /// Header names and values in order of arrival, repeated ones included; names in any case.
        headers: &'a [(String, String)],
        /// The body's first bytes, at most [`MAX_ANSWER_BYTES`].
        body: &'a [u8],
    },
    /// Certainly no byte of the request reached the platform.
    NotSent(NotSent),
    /// Bytes may have reached the platform, and no usable answer came back.
    Lost(Lost),
}

/// Why nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotSent {
    /// The name did not resolve.
    Dns,
    /// No connection: refused, unreachable, or not in time.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// No connection of the pool became free in time.
    Pool,
}

/// How an answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// The call's deadline passed.
    Timeout,
    /// The connection was reset.
    Reset,
    /// The connection ended before a whole answer.
    Closed,
    /// What came back is not HTTP.
    Protocol,
    /// The answer is longer than the caller reads.
    TooLarge,
}

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dns => "the platform's name did not resolve",
            Self::Connect => "no connection to the platform",
            Self::Tls => "the TLS handshake failed",
            Self::Pool => "no free connection in time",
        })
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "no answer before the deadline",
            Self::Reset => "the connection was reset before an answer",
            Self::Closed => "the connection was closed before a whole answer",
            Self::Protocol => "what came back is not HTTP",
            Self::TooLarge => "the answer is too large to read",
        })
    }
}
