//! How large a message may be.

/// Bounds on the size of a message, for both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest `data`, in bytes: of its JSON when written, of its Avro when read.
    pub payload_bytes: usize,
}

impl Limits {
    /// 256 KiB (requirement B7).
    pub const DEFAULT_PAYLOAD_BYTES: usize = 256 * 1024;
    /// What the envelope around the data may take: all its texts at their longest, rounded up.
    pub const ENVELOPE_BYTES: usize = 16 * 1024;

    /// The longest Avro body: data and envelope.
    pub fn body_bytes(&self) -> usize {
        self.payload_bytes.saturating_add(Self::ENVELOPE_BYTES)
    }

    /// The most that Avro decoding may ask for at once. A decoded array item is far larger than
    /// its byte on the wire, so this is a multiple of the payload.
    pub(crate) fn allocation_bytes(&self) -> usize {
        self.body_bytes().saturating_mul(64)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            payload_bytes: Self::DEFAULT_PAYLOAD_BYTES,
        }
    }
}
