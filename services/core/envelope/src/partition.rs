//! Where a record key goes: Kafka's Java default, so that every tool places a key alike (design §4).

use std::num::NonZeroU32;

/// The partition of `key` among `count`: `toPositive(murmur2(key)) % count`, as Kafka's Java
/// producer and librdkafka's `murmur2` compute it. A null key has no place of its own and is not
/// passed here.
pub fn partition_for(key: &[u8], count: NonZeroU32) -> u32 {
    (murmur2(key) & 0x7fff_ffff) % count
}

/// MurmurHash2, 32 bits, with the seed that Kafka uses.
pub fn murmur2(key: &[u8]) -> u32 {
    const SEED: u32 = 0x9747_b28c;
    const M: u32 = 0x5bd1_e995;

    // Kafka's lengths are 32-bit; longer keys cannot be sent at all.
    let mut hash = SEED ^ (key.len() as u32);
    let (words, tail) = key.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> 24;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    if !tail.is_empty() {
        for (position, byte) in tail.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * position);
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of Kafka's own `UtilsTest`.
    #[test]
    fn hashes_as_kafkas_java_client() {
        let vectors: [(&str, i32); 6] = [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            (
                "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8",
                -58_897_971,
            ),
            ("abc", 479_470_107),
        ];
        for (key, hash) in vectors {
            assert_eq!(murmur2(key.as_bytes()) as i32, hash, "{key}");
        }
    }

    #[test]
    fn every_key_has_a_partition() {
        let twelve = NonZeroU32::new(12).unwrap();
        assert_eq!(
            partition_for(b"21", twelve),
            ((-973_932_308i32 & 0x7fff_ffff) % 12) as u32
        );
        for key in [
            b"".as_slice(),
            b"-1001087453541",
            b"@channelname",
            &[0xff; 9],
        ] {
            assert!(partition_for(key, twelve) < 12);
            assert_eq!(partition_for(key, NonZeroU32::MIN), 0);
        }
    }
}
