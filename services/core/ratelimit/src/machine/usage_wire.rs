//! Rules' beginnings and usages as bytes.

use super::usage::{InForce, Rules, Usage};
use crate::record::{DecodeError, Reader, Writer};
use crate::{LogTime, Rule};

/// More than any window may count, with what horizons add.
const MAX_HISTORY: usize = 4 * crate::limits::MAX_COUNT as usize;

impl Rules {
    pub(crate) fn write(&self, out: &mut Writer) {
        for rule in &self.0 {
            out.long(rule.since.0);
        }
    }

    /// Reads what [`Rules::write`] wrote for these rules.
    pub(crate) fn read<'a>(
        input: &mut Reader<'_>,
        rules: impl Iterator<Item = &'a Rule>,
    ) -> Result<Self, DecodeError> {
        rules
            .map(|rule| Ok(InForce::new(*rule, LogTime(input.long()?))))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl Usage {
    pub(crate) fn write(&self, out: &mut Writer) {
        let mut before = 0;
        out.array(self.history.iter(), |out, at| {
            out.long(at.0.wrapping_sub(before));
            before = at.0;
        });
        out.array(self.arrivals.iter(), |out, at| out.long(at.0));
    }

    pub(crate) fn read(input: &mut Reader<'_>, rules: &Rules) -> Result<Self, DecodeError> {
        let mut before: i64 = 0;
        let history = input.array(MAX_HISTORY, |input| {
            let at = before.wrapping_add(input.long()?);
            if at < before && before != 0 {
                return Err(DecodeError::Malformed("a history that goes back"));
            }
            before = at;
            Ok(LogTime(at))
        })?;
        let arrivals = input.array(rules.0.len(), |input| Ok(LogTime(input.long()?)))?;
        if !arrivals.is_empty() && arrivals.len() != rules.0.len() {
            return Err(DecodeError::Malformed("buckets without rules"));
        }
        Ok(Self {
            history: history.into(),
            arrivals,
        })
    }
}
