/// A small seeded generator (SplitMix64, Steele et al. 2014) for jitter: the same seed gives the same decisions, which
/// is all that a simulation needs; nothing here is a secret.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in `0.0..1.0`.
    pub(crate) fn unit(&mut self) -> f64 {
        // 53 bits: every value is exact in an f64.
        #[allow(clippy::cast_precision_loss)]
        let numerator = (self.next_u64() >> 11) as f64;
        numerator / 9_007_199_254_740_992.0
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn unit_stays_in_range_and_is_reproducible() {
        let mut a = Random::new(7);
        let mut b = Random::new(7);
        for _ in 0..1_000 {
            let x = a.unit();
            assert!((0.0..1.0).contains(&x));
            assert_eq!(x.to_bits(), b.unit().to_bits());
        }
    }
}
