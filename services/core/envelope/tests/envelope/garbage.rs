//! No bytes and no text make either side panic: seeded, so that a failure can be repeated.

use crate::support::{CATALOGUE, CONFIRMED, SHIPPED, encode, envelope, event, writer};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tidings_envelope::{Limits, decode, sanitise_escapes, trace, wire};

const SEED: u64 = 0x7161_d1e6;
const RUNS: usize = 100_000;

#[test]
fn random_bytes_never_panic() {
    let mut random = StdRng::seed_from_u64(SEED);
    let writers = ["order.confirmed", "order.shipped", "notification.requested"].map(writer);
    for run in 0..RUNS {
        let mut bytes = vec![0; random.random_range(0..200)];
        random.fill(bytes.as_mut_slice());
        let body = wire::split(&bytes).map_or(bytes.as_slice(), |(_, body)| body);
        let decoded = decode(&writers[run % writers.len()], body, &Limits::default());
        assert!(
            decoded.is_err(),
            "run {run} of seed {SEED}: noise is no message"
        );
    }
}

#[test]
fn mutated_messages_never_panic() {
    let mut random = StdRng::seed_from_u64(SEED);
    let valid = [("order.confirmed", CONFIRMED), ("order.shipped", SHIPPED)]
        .map(|(name, data)| (writer(name), encode(name, data).unwrap()));
    let mut accepted = 0;
    for run in 0..RUNS {
        let (writer, body) = &valid[run % valid.len()];
        let mut body = body.clone();
        for _ in 0..random.random_range(1..4) {
            mutate(&mut body, &mut random);
        }
        if let Ok(message) = decode(writer, &body, &Limits::default()) {
            accepted += 1;
            // What was accepted must also render, or fail, without a panic.
            let _ = message.text();
        }
    }
    assert!(accepted > 0, "some changes hit only texts; seed {SEED}");
}

fn mutate(body: &mut Vec<u8>, random: &mut StdRng) {
    let at = random.random_range(0..body.len());
    match random.random_range(0..4) {
        0 => body[at] = random.random(),
        1 => body[at] ^= 1 << random.random_range(0..8),
        2 => body.insert(at, random.random()),
        _ => body.truncate(at.max(1)),
    }
}

#[test]
fn mutated_json_never_panics_and_what_is_accepted_decodes() {
    let mut random = StdRng::seed_from_u64(SEED);
    let (event, envelope, writer) = (
        event("order.confirmed"),
        envelope("order.confirmed"),
        writer("order.confirmed"),
    );
    let pieces = [
        "\\u0000", "\\ud83d", "\"", "{", "}", "[", "]", ",", ":", "1e9", "-", "null", "\\", "é",
        ".",
    ];
    let mut body = Vec::new();
    for run in 0..RUNS / 4 {
        let mut text: Vec<char> = CONFIRMED.chars().collect();
        for _ in 0..random.random_range(1..4) {
            let at = random.random_range(0..text.len());
            let piece = pieces[random.random_range(0..pieces.len())];
            text.splice(
                at..(at + random.random_range(0..3)).min(text.len()),
                piece.chars(),
            );
        }
        let text: String = text.into_iter().collect();
        body.clear();
        if event
            .encode(&envelope, &text, &Limits::default(), &mut body)
            .is_ok()
        {
            decode(&writer, &body, &Limits::default())
                .unwrap_or_else(|poison| panic!("run {run} of seed {SEED}: {poison}: {text}"));
        }
    }
}

#[test]
fn random_texts_never_panic() {
    let mut random = StdRng::seed_from_u64(SEED);
    let letters: Vec<char> = "\\u0dD8fé\"-{}:1".chars().collect();
    for _ in 0..RUNS / 4 {
        let text: String = (0..random.random_range(0..60))
            .map(|_| letters[random.random_range(0..letters.len())])
            .collect();
        sanitise_escapes(&text);
        trace::create_context(uuid::Uuid::from_u128(1), Some(&text));
        let _ = CATALOGUE.find(&text, 1);
        let _ = tidings_envelope::WriterSchema::bind(&CATALOGUE, &text);
    }
}
