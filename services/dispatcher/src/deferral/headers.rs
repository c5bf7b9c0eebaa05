//! A record's headers as bytes. Kafka's headers are a list: names repeat, values are null or any bytes, and order counts,
//! so neither JSON nor a map can hold them.
//!
//! Each header is its name's length (4 bytes, big endian), the name in UTF-8, its value's length (4 bytes; -1: null) and
//! the value. Nothing stands before, between or after them.

use rdkafka::message::{Header, Headers as _, OwnedHeaders};

/// The bytes are not what [`encode`] wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stored headers are damaged")]
pub(super) struct Damaged;

/// The length that says null.
const NULL: i32 = -1;

/// All of them, in order; no bytes for none.
pub(super) fn encode(headers: Option<&OwnedHeaders>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for header in headers.iter().flat_map(|headers| headers.iter()) {
        put(&mut bytes, Some(header.key.as_bytes()));
        put(&mut bytes, header.value);
    }
    bytes
}

fn put(bytes: &mut Vec<u8>, text: Option<&[u8]>) {
    // A record is smaller than 2 GiB, and so is each part of it.
    let length = text.map_or(NULL, |text| i32::try_from(text.len()).unwrap_or(i32::MAX));
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(text.unwrap_or_default());
}

/// `None` for none. Total over any bytes.
pub(super) fn decode(mut bytes: &[u8]) -> Result<Option<OwnedHeaders>, Damaged> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut headers = OwnedHeaders::new();
    while !bytes.is_empty() {
        let name = take(&mut bytes)?.ok_or(Damaged)?;
        let key = std::str::from_utf8(name).map_err(|_| Damaged)?;
        // The client's own headers are C strings.
        if key.contains('\0') {
            return Err(Damaged);
        }
        let value = take(&mut bytes)?;
        headers = headers.insert(Header { key, value });
    }
    Ok(Some(headers))
}

fn take<'a>(bytes: &mut &'a [u8]) -> Result<Option<&'a [u8]>, Damaged> {
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or(Damaged)?;
    let length = i32::from_be_bytes(*length);
    if length == NULL {
        *bytes = rest;
        return Ok(None);
    }
    let length = usize::try_from(length).map_err(|_| Damaged)?;
    let (text, rest) = rest.split_at_checked(length).ok_or(Damaged)?;
    *bytes = rest;
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(headers: &OwnedHeaders) -> Vec<(String, Option<Vec<u8>>)> {
        headers
            .iter()
            .map(|header| (header.key.to_owned(), header.value.map(<[u8]>::to_vec)))
            .collect()
    }

    fn odd() -> OwnedHeaders {
        OwnedHeaders::new()
            .insert(Header {
                key: "traceparent",
                value: Some("00-1-2-01".as_bytes()),
            })
            .insert(Header {
                key: "twice",
                value: Some([0, 255, 1].as_slice()),
            })
            .insert(Header::<'_, &[u8]> {
                key: "twice",
                value: None,
            })
            .insert(Header {
                key: "",
                value: Some([].as_slice()),
            })
    }

    #[test]
    fn repeated_null_and_binary_values_come_back_in_order() {
        let back = decode(&encode(Some(&odd()))).unwrap().unwrap();
        assert_eq!(listed(&back), listed(&odd()));
        assert_eq!(back.count(), 4);
        assert!(decode(&encode(None)).unwrap().is_none());
    }

    #[test]
    fn whatever_is_cut_or_changed_is_an_error_and_never_a_panic() {
        let whole = encode(Some(&odd()));
        let ends: Vec<usize> = (0..=whole.len())
            .filter(|length| decode(&whole[..*length]).is_ok())
            .collect();
        assert_eq!(ends.len(), 5, "only at the end of each header: {ends:?}");
        for place in 0..whole.len() {
            for byte in [0, 1, 127, 128, 255] {
                let mut changed = whole.clone();
                changed[place] = byte;
                let _ = decode(&changed);
            }
        }
        for bad in [
            &[255; 4][..],
            &[127, 255, 255, 255][..],
            &[0, 0, 0, 1, 0xC3, 0, 0, 0, 0][..],
        ] {
            assert_eq!(decode(bad).err(), Some(Damaged), "{bad:?}");
        }
    }
}
