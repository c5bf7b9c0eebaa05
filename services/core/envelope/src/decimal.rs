//! Exact decimal numbers: money never passes through a float.

use num_bigint::BigInt;

/// Precision and scale of an Avro decimal that fits 128 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DecimalShape {
    precision: u32,
    scale: u32,
}

/// Why a text is no value of a decimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecimalFault {
    NoNumber,
    TooManyDecimals,
    TooLarge,
}

impl DecimalShape {
    /// `None` unless 1 ≤ precision ≤ 38 and scale ≤ precision.
    pub(crate) fn new(precision: usize, scale: usize) -> Option<Self> {
        let (precision, scale) = (u32::try_from(precision).ok()?, u32::try_from(scale).ok()?);
        let fits = (1..=38).contains(&precision) && scale <= precision;
        fits.then_some(Self { precision, scale })
    }

    /// All digits that a value may have.
    pub(crate) fn precision(self) -> u32 {
        self.precision
    }

    pub(crate) fn scale(self) -> u32 {
        self.scale
    }

    /// Digits that may stand before the point.
    pub(crate) fn whole_digits(self) -> u32 {
        self.precision - self.scale
    }

    /// The first unscaled value that is too large.
    fn bound(self) -> i128 {
        10i128.pow(self.precision)
    }

    /// The unscaled value of a JSON number's text (`19.99`, `-1e3`).
    pub(crate) fn parse(self, text: &str) -> Result<i128, DecimalFault> {
        let number = Number::split(text).ok_or(DecimalFault::NoNumber)?;
        let mut value = 0i128;
        // Places that the digit in hand stands above the last decimal kept.
        let mut place = number.exponent + number.whole.len() as i64 + i64::from(self.scale);
        for digit in number.whole.bytes().chain(number.fraction.bytes()) {
            place -= 1;
            match (i128::from(digit - b'0'), place) {
                (0, ..0) => {}
                (_, ..0) => return Err(DecimalFault::TooManyDecimals),
                (digit, 0..) => value = value * 10 + digit,
            }
            if value >= self.bound() {
                return Err(DecimalFault::TooLarge);
            }
        }
        for _ in 0..if value == 0 { 0 } else { place.max(0) } {
            value *= 10;
            if value >= self.bound() {
                return Err(DecimalFault::TooLarge);
            }
        }
        Ok(if number.negative { -value } else { value })
    }

    /// Appends the two's complement, big-endian, as wide as the precision needs. Wider than the
    /// value needs is allowed by Avro, and some readers (apache-avro's resolution) refuse less.
    pub(crate) fn bytes(self, unscaled: i128, out: &mut Vec<u8>) {
        let bits = i128::BITS - (self.bound() - 1).leading_zeros() + 1;
        let width = bits.div_ceil(8) as usize;
        out.extend_from_slice(&unscaled.to_be_bytes()[16 - width..]);
    }

    /// The text of an unscaled value: exact, at least two decimals when the scale has them, no
    /// further trailing zeros (`19.99`, `20.00`, `0.125`). `None` if it exceeds the precision.
    pub(crate) fn text(self, unscaled: &BigInt) -> Option<String> {
        let value = i128::try_from(unscaled)
            .ok()
            .filter(|value| value.unsigned_abs() < self.bound().unsigned_abs())?;
        let scale = self.scale as usize;
        let digits = format!("{:0width$}", value.unsigned_abs(), width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        let kept = fraction.trim_end_matches('0').len().max(scale.min(2));
        let sign = if value < 0 { "-" } else { "" };
        Some(match kept {
            0 => format!("{sign}{whole}"),
            _ => format!("{sign}{whole}.{}", &fraction[..kept]),
        })
    }
}

/// The parts of a JSON number.
struct Number<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: i64,
}

impl<'a> Number<'a> {
    fn split(text: &'a str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            // An exponent of ten thousand is beyond every decimal, whatever it says exactly.
            Some((mantissa, exponent)) => (
                mantissa,
                parse_exponent(exponent)?.clamp(-10_000_000, 10_000),
            ),
            None => (text, 0),
        };
        let (negative, mantissa) = match mantissa.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, mantissa),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (mantissa, ""),
        };
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let valid = !whole.is_empty() && digits(whole) && digits(fraction);
        valid.then_some(Self {
            negative,
            whole,
            fraction,
            exponent,
        })
    }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits.parse().unwrap_or(i64::from(i32::MAX));
    Some(if text.starts_with('-') {
        -magnitude
    } else {
        magnitude
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money() -> DecimalShape {
        DecimalShape::new(18, 4).unwrap()
    }

    #[test]
    fn parses_exactly() {
        let cases = [
            ("19.99", 199_900),
            ("0", 0),
            ("-0.0001", -1),
            ("1e3", 10_000_000),
            ("12.5E-1", 12_500),
            ("19.990000000", 199_900),
            ("1.23400e-0", 12_340),
            ("99999999999999.9999", 999_999_999_999_999_999),
            ("007", 70_000),
            ("0e999999999999999999999", 0),
            ("0.00e-99999999", 0),
            ("100000e-5", 10_000),
        ];
        for (text, unscaled) in cases {
            assert_eq!(money().parse(text), Ok(unscaled), "{text}");
        }
    }

    #[test]
    fn refuses_what_does_not_fit() {
        for text in ["0.00001", "19.99999", "1e-5", "1e-999999999999"] {
            assert_eq!(
                money().parse(text),
                Err(DecimalFault::TooManyDecimals),
                "{text}"
            );
        }
        for text in [
            "100000000000000",
            "1e14",
            "-1e14",
            "1e999999999999",
            &"9".repeat(100_000),
        ] {
            assert_eq!(money().parse(text), Err(DecimalFault::TooLarge), "{text}");
        }
        for text in [
            "", "-", ".", "1.", ".5", "1e", "1e+", "0x10", "1 ", "+1", "1.5.5", "NaN", "١",
        ] {
            assert_eq!(money().parse(text), Err(DecimalFault::NoNumber), "{text}");
        }
    }

    #[test]
    fn bytes_are_as_wide_as_the_precision_needs() {
        for (precision, width) in [(1, 1), (2, 1), (3, 2), (4, 2), (18, 8), (38, 16)] {
            let shape = DecimalShape::new(precision, 0).unwrap();
            for unscaled in [0, 9, -9, shape.bound() - 1, 1 - shape.bound()] {
                let mut bytes = Vec::new();
                shape.bytes(unscaled, &mut bytes);
                assert_eq!(bytes.len(), width, "precision {precision}");
                assert_eq!(BigInt::from_signed_bytes_be(&bytes), BigInt::from(unscaled));
            }
        }
    }

    #[test]
    fn texts_are_exact_and_read_as_money() {
        let cases = [
            (199_900, "19.99"),
            (200_000, "20.00"),
            (-1, "-0.0001"),
            (1_250, "0.125"),
            (0, "0.00"),
        ];
        for (unscaled, text) in cases {
            assert_eq!(money().text(&BigInt::from(unscaled)).as_deref(), Some(text));
        }
        let whole = DecimalShape::new(3, 0).unwrap();
        assert_eq!(whole.text(&BigInt::from(120)).as_deref(), Some("120"));
        assert_eq!(whole.text(&BigInt::from(1000)), None);
        assert_eq!(whole.text(&BigInt::from(-1000)), None);
        assert_eq!(
            DecimalShape::new(3, 1)
                .unwrap()
                .text(&BigInt::from(5))
                .as_deref(),
            Some("0.5")
        );
    }

    #[test]
    fn shapes_beyond_128_bits_are_refused() {
        assert!(DecimalShape::new(39, 0).is_none());
        assert!(DecimalShape::new(0, 0).is_none());
        assert!(DecimalShape::new(4, 5).is_none());
        assert!(DecimalShape::new(38, 38).is_some());
    }
}
