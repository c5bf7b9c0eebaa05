//! Avro's binary encoding of the few types that messages use.

/// The branch of `["null", X]` that is null.
pub(super) const NULL: i64 = 0;
/// The branch of `["null", X]` that is X.
pub(super) const PRESENT: i64 = 1;

/// An int or long: zigzag, then seven bits a byte, lowest first.
pub(super) fn write_long(value: i64, out: &mut Vec<u8>) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    while rest > 0x7f {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// A length or count.
pub(super) fn write_length(length: usize, out: &mut Vec<u8>) {
    write_long(length as i64, out);
}

pub(super) fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    write_length(bytes.len(), out);
    out.extend_from_slice(bytes);
}

pub(super) fn write_string(text: &str, out: &mut Vec<u8>) {
    write_bytes(text.as_bytes(), out);
}

/// A field of type `["null", X]`.
pub(super) fn write_optional<T>(
    value: Option<T>,
    out: &mut Vec<u8>,
    write: impl FnOnce(T, &mut Vec<u8>),
) {
    match value {
        None => write_long(NULL, out),
        Some(value) => {
            write_long(PRESENT, out);
            write(value, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longs_are_zigzag_varints() {
        let cases: [(i64, &[u8]); 7] = [
            (0, &[0]),
            (-1, &[1]),
            (1, &[2]),
            (-64, &[0x7f]),
            (64, &[0x80, 0x01]),
            (
                i64::MAX,
                &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            ),
            (
                i64::MIN,
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            ),
        ];
        for (value, bytes) in cases {
            let mut out = Vec::new();
            write_long(value, &mut out);
            assert_eq!(out, bytes, "{value}");
        }
    }
}
