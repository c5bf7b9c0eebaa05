use super::{Limit, MAX_RULES, Rule, ScopeLimits};
use crate::record::{DecodeError, Reader, Writer, read_duration};
use crate::time::micros;

impl ScopeLimits {
    pub(crate) fn write(&self, out: &mut Writer) {
        for level in [&self.scope, &self.chat, &self.group] {
            out.array(level.iter(), |out, rule| rule.write(out));
        }
    }

    /// Reads limits that can be in force; others are malformed.
    pub(crate) fn read(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let limits = Self {
            scope: input.array(MAX_RULES, Rule::read)?,
            chat: input.array(MAX_RULES, Rule::read)?,
            group: input.array(MAX_RULES, Rule::read)?,
        };
        limits
            .validate()
            .map_err(|_| DecodeError::Malformed("limits out of their range"))?;
        Ok(limits)
    }
}

impl Rule {
    fn write(&self, out: &mut Writer) {
        out.count(self.headroom_permille);
        match self.limit {
            Limit::Window { count, period } => {
                out.long(0);
                out.count(count);
                out.long(micros(period));
            }
            Limit::TokenBucket {
                micro_tokens_per_second,
                burst,
                cost,
            } => {
                out.long(1);
                out.count(micro_tokens_per_second);
                out.count(burst);
                out.count(cost);
            }
            Limit::Spacing { delay } => {
                out.long(2);
                out.long(micros(delay));
            }
        }
    }

    fn read(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let headroom_permille = input.number(u32::MAX)?;
        let limit = match input.long()? {
            0 => Limit::Window {
                count: input.number(u32::MAX)?,
                period: read_duration(input)?,
            },
            1 => Limit::TokenBucket {
                micro_tokens_per_second: u64::try_from(read_duration(input)?.as_micros())
                    .unwrap_or(u64::MAX),
                burst: input.number(u32::MAX)?,
                cost: input.number(u32::MAX)?,
            },
            2 => Limit::Spacing {
                delay: read_duration(input)?,
            },
            i64::MIN..=-1 | 3.. => {
                return Err(DecodeError::Malformed("a limit that does not exist"));
            }
        };
        Ok(Self {
            limit,
            headroom_permille,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn limits_come_back_as_they_went() {
        let limits = crate::exact_limits("telegram").with(ScopeLimits {
            scope: vec![Rule::new(Limit::TokenBucket {
                micro_tokens_per_second: 166_667,
                burst: 45,
                cost: 2,
            })],
            chat: vec![Rule::new(Limit::Spacing {
                delay: Duration::from_millis(50),
            })],
            group: Vec::new(),
        });
        let mut out = Writer::default();
        limits.write(&mut out);
        assert_eq!(ScopeLimits::read(&mut Reader::new(&out.0)), Ok(limits));
    }
}
