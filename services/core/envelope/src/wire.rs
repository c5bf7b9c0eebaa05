//! The Confluent wire format: one zero byte, the schema's registry id (big-endian), the Avro body.

/// Length of the header.
pub const HEADER_BYTES: usize = 5;

const MAGIC: u8 = 0;

/// A record value that is not in the wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Too short to carry a header.
    #[error("{length} bytes are too short for the 5-byte header")]
    TooShort {
        /// Length of the value.
        length: usize,
    },
    /// It does not begin with the zero byte.
    #[error("the first byte is {byte:#04x} instead of 0x00")]
    NoMagic {
        /// The byte found.
        byte: u8,
    },
}

/// Appends the header for a schema that the registry knows as `schema_id`.
pub fn write_header(schema_id: u32, out: &mut Vec<u8>) {
    out.push(MAGIC);
    out.extend_from_slice(&schema_id.to_be_bytes());
}

/// Splits a record value into its schema id and its Avro body.
///
/// # Errors
/// [`WireError`] if the value is too short or does not begin with the zero byte.
pub fn split(value: &[u8]) -> Result<(u32, &[u8]), WireError> {
    match value {
        [MAGIC, a, b, c, d, body @ ..] => Ok((u32::from_be_bytes([*a, *b, *c, *d]), body)),
        [MAGIC, ..] | [] => Err(WireError::TooShort {
            length: value.len(),
        }),
        [byte, ..] => Err(WireError::NoMagic { byte: *byte }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_splits_again() {
        let mut value = Vec::new();
        write_header(0x0102_0304, &mut value);
        assert_eq!(value.len(), HEADER_BYTES);
        value.extend_from_slice(b"body");
        assert_eq!(value[..5], [0, 1, 2, 3, 4]);
        assert_eq!(split(&value), Ok((0x0102_0304, b"body".as_slice())));
    }

    #[test]
    fn foreign_values_are_told_apart() {
        assert_eq!(split(b""), Err(WireError::TooShort { length: 0 }));
        assert_eq!(split(b"\0\0\0"), Err(WireError::TooShort { length: 3 }));
        assert_eq!(
            split(b"{\"json\":1}"),
            Err(WireError::NoMagic { byte: b'{' })
        );
        assert_eq!(split(b"\0\0\0\0\x09"), Ok((9, b"".as_slice())));
    }
}
