//! The trace context of the span that stands for the upstream transaction.
//!
//! Relay and dispatcher compute the same ids from the message, so that the `create` span that the
//! relay emits on upstream's behalf is the parent of everything later (reference/conventions.md).

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use uuid::Uuid;

/// A W3C trace context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace; never zero.
    pub trace_id: [u8; 16],
    /// The span; never zero.
    pub span_id: [u8; 8],
    /// Trace flags; bit 0 is "sampled".
    pub flags: u8,
    /// The span above, if upstream gave one.
    pub parent_span_id: Option<[u8; 8]>,
}

impl TraceContext {
    /// Whether the trace is sampled.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// The value of a `traceparent` header that makes this span the parent.
    pub fn to_traceparent(&self) -> String {
        let mut text = String::with_capacity(TRACEPARENT_BYTES);
        text.push_str("00-");
        push_hex(&self.trace_id, &mut text);
        text.push('-');
        push_hex(&self.span_id, &mut text);
        text.push('-');
        push_hex(&[self.flags], &mut text);
        text
    }
}

/// The context of a message's `create` span. Under a valid `upstream_traceparent` it continues
/// upstream's trace with upstream's flags; else the trace is the message's own, and sampled.
pub fn create_context(message_id: Uuid, upstream_traceparent: Option<&str>) -> TraceContext {
    let hash = Sha256::digest(message_id.as_bytes());
    let (own_trace_id, own_span_id) = (non_zero(&hash[..16]), non_zero(&hash[16..24]));
    match upstream_traceparent.and_then(parse_traceparent) {
        Some(upstream) => TraceContext {
            trace_id: upstream.trace_id,
            span_id: own_span_id,
            flags: upstream.flags,
            parent_span_id: Some(upstream.span_id),
        },
        None => TraceContext {
            trace_id: own_trace_id,
            span_id: own_span_id,
            flags: SAMPLED,
            parent_span_id: None,
        },
    }
}

/// Parses a `traceparent` by the rules of W3C Trace Context: version 00 exactly, later versions by
/// their first four fields, zero ids and capitals refused. Flags that version 00 does not define
/// are dropped.
pub fn parse_traceparent(text: &str) -> Option<TraceContext> {
    let bytes = text.as_bytes();
    let known = bytes.get(..TRACEPARENT_BYTES)?;
    let [version] = hex(&known[..2])?;
    let rest_fits = match version {
        0 => bytes.len() == TRACEPARENT_BYTES,
        0xff => false,
        _ => bytes
            .get(TRACEPARENT_BYTES)
            .is_none_or(|next| *next == b'-'),
    };
    let dashes = [2, 35, 52].iter().all(|position| known[*position] == b'-');
    if !rest_fits || !dashes {
        return None;
    }
    let context = TraceContext {
        trace_id: hex(&known[3..35])?,
        span_id: hex(&known[36..52])?,
        flags: hex::<1>(&known[53..55])?[0] & (SAMPLED | RANDOM),
        parent_span_id: None,
    };
    (context.trace_id != [0; 16] && context.span_id != [0; 8]).then_some(context)
}

const TRACEPARENT_BYTES: usize = 55;
const SAMPLED: u8 = 0x01;
/// Level 2 of the specification: the trace id's last seven bytes are random.
const RANDOM: u8 = 0x02;

/// The bytes as an id; an id of zeros is invalid, so its last bit is set.
fn non_zero<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut id = [0; N];
    id.copy_from_slice(&bytes[..N]);
    if id == [0; N]
        && let Some(last) = id.last_mut()
    {
        *last = 1;
    }
    id
}

fn push_hex(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
    }
}

/// Exactly N bytes from lower-case hexadecimal digits.
fn hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
        *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Some(bytes)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UPSTREAM: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn message_id() -> Uuid {
        Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0001)
    }

    #[test]
    fn continues_upstreams_trace_with_a_span_of_its_own() {
        let context = create_context(message_id(), Some(UPSTREAM));
        let upstream = parse_traceparent(UPSTREAM).unwrap();
        assert_eq!(context.trace_id, upstream.trace_id);
        assert_eq!(context.parent_span_id, Some(upstream.span_id));
        assert_ne!(context.span_id, upstream.span_id);
        assert!(
            context
                .to_traceparent()
                .starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-")
        );

        let unsampled = create_context(message_id(), Some(&UPSTREAM.replace("-01", "-00")));
        assert!(!unsampled.is_sampled());
    }

    #[test]
    fn starts_a_sampled_trace_that_both_sides_compute_alike() {
        let context = create_context(message_id(), None);
        assert!(context.is_sampled());
        assert_eq!(context.parent_span_id, None);
        assert_eq!(context, create_context(message_id(), Some("garbage")));
        assert_ne!(
            context.trace_id,
            create_context(Uuid::from_u128(2), None).trace_id
        );
        let parsed = parse_traceparent(&context.to_traceparent()).unwrap();
        assert_eq!(
            (parsed.trace_id, parsed.span_id),
            (context.trace_id, context.span_id)
        );
    }

    #[test]
    fn parses_by_the_rules_of_w3c() {
        let later = UPSTREAM.replacen("00", "cc", 1);
        for valid in [
            UPSTREAM.to_owned(),
            later.clone(),
            format!("{later}-what-the-future-brings"),
        ] {
            assert!(parse_traceparent(&valid).is_some(), "{valid}");
        }
        let invalid = [
            String::new(),
            UPSTREAM[..54].to_owned(),
            format!("{UPSTREAM}-more"),
            format!("{later}more"),
            UPSTREAM.replacen("00", "ff", 1),
            UPSTREAM.to_uppercase(),
            UPSTREAM.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            UPSTREAM.replace("00f067aa0ba902b7", &"0".repeat(16)),
            UPSTREAM.replace('-', "_"),
            "é".repeat(40),
        ];
        for text in invalid {
            assert!(parse_traceparent(&text).is_none(), "{text}");
        }
    }
}
