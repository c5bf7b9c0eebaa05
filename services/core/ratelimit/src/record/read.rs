use std::time::Duration;

use super::write::MAGIC;
use super::{
    Ask, Body, Class, Entry, FIRST_VERSION, Init, Limits, MAX_ASKS, MAX_ENTRIES, MAX_LEEWAY,
    MAX_NAME_BYTES, MAX_OPERATOR_BYTES, MAX_PART_BYTES, MAX_PARTS, MAX_PERMITS, MAX_REASON_BYTES,
    MAX_RECORD_BYTES, Penalise, Reader, Record, Reserve, Reset, SCHEMA_VERSION, Snapshot,
    StateHash, Target, Tick,
};
use crate::{LogTime, ScopeLimits};

/// Why bytes are not a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// It was written under a later schema version: it may mean anything, so its reader stops.
    #[error(
        "a record of schema version {0} in the rate-limit topic, and this program knows up to {SCHEMA_VERSION}: update this worker"
    )]
    LaterVersion(u8),
    /// It is no record of any version. Every reader ignores it alike.
    #[error("not a record of the rate-limit topic: {0}")]
    Malformed(&'static str),
}

const MAX_LEEWAY_MICROS: u32 = MAX_LEEWAY.as_micros() as u32;

type Result<T> = std::result::Result<T, DecodeError>;

impl Record {
    /// Reads a record's value. Total: any bytes give a record or an error, in time and memory bounded by their length.
    ///
    /// # Errors
    /// [`DecodeError::LaterVersion`] must stop the reader; [`DecodeError::Malformed`] is to be ignored.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_RECORD_BYTES {
            return Err(DecodeError::Malformed("too long"));
        }
        let [MAGIC, version, datum @ ..] = bytes else {
            return Err(DecodeError::Malformed("it does not begin like one"));
        };
        match *version {
            FIRST_VERSION..=SCHEMA_VERSION => {}
            0 => return Err(DecodeError::Malformed("schema version 0")),
            later => return Err(DecodeError::LaterVersion(later)),
        }
        let mut input = Reader::new(datum);
        let log_id = input.id()?;
        let body = read_body(&mut input, *version)?;
        input.end()?;
        Ok(Self { log_id, body })
    }
}

fn read_body(input: &mut Reader<'_>, version: u8) -> Result<Body> {
    Ok(match input.long()? {
        0 => Body::Init(Init {
            incarnation: input.id()?,
            scope: read_scope(input)?,
        }),
        1 => Body::Reserve(read_reserve(input)?),
        2 => Body::Penalise(read_penalise(input)?),
        3 => Body::Reset(Reset {
            id: input.id()?,
            target: read_target(input)?,
            operator: input.string(MAX_OPERATOR_BYTES)?,
            reason: input.string(MAX_REASON_BYTES)?,
        }),
        4 => Body::Limits(Limits {
            id: input.id()?,
            machine_version: input.number(u32::MAX)?,
            scope: read_scope(input)?,
            operator: input.string(MAX_OPERATOR_BYTES)?,
            reason: input.string(MAX_REASON_BYTES)?,
        }),
        5 => Body::Tick(Tick {
            incarnation: input.id()?,
            snapshot: input.bool()?,
        }),
        6 => Body::Snapshot(read_snapshot(input)?),
        // Readers of version 1 ignore it under that version, and all must do alike.
        7 if version > FIRST_VERSION => Body::Reserve(Reserve {
            leeway: Duration::from_micros(input.number(MAX_LEEWAY_MICROS)?.into()),
            ..read_reserve(input)?
        }),
        i64::MIN..=-1 | 7.. => return Err(DecodeError::Malformed("a body that does not exist")),
    })
}

fn read_name(input: &mut Reader<'_>) -> Result<String> {
    let name = input.string(MAX_NAME_BYTES)?;
    if name.is_empty() {
        return Err(DecodeError::Malformed("an empty name"));
    }
    Ok(name)
}

fn read_scope(input: &mut Reader<'_>) -> Result<Option<(String, ScopeLimits)>> {
    input.option(|input| Ok((read_name(input)?, ScopeLimits::read(input)?)))
}

fn read_reserve(input: &mut Reader<'_>) -> Result<Reserve> {
    let incarnation = input.id()?;
    let seq =
        u64::try_from(input.long()?).map_err(|_| DecodeError::Malformed("a negative number"))?;
    let class = Class::from_index(input.long()?)
        .ok_or(DecodeError::Malformed("a class that does not exist"))?;
    let mut left = MAX_ENTRIES;
    let asks = input.array(MAX_ASKS, |input| {
        let ask = read_ask(input, left)?;
        left = left.saturating_sub(ask.entries.len());
        Ok(ask)
    })?;
    Ok(Reserve {
        incarnation,
        seq,
        class,
        leeway: Duration::ZERO,
        asks,
    })
}

fn read_ask(input: &mut Reader<'_>, most: usize) -> Result<Ask> {
    Ok(Ask {
        scope: read_name(input)?,
        waiting: input.number(u32::MAX)?,
        entries: input.array(most, |input| {
            Ok(Entry {
                chat: read_name(input)?,
                n: input.number(MAX_PERMITS)?,
            })
        })?,
    })
}

fn read_target(input: &mut Reader<'_>) -> Result<Target> {
    let kind = input.long()?;
    let name = read_name(input)?;
    let chat = input.string(MAX_NAME_BYTES)?;
    if matches!(kind, 0 | 3) == chat.is_empty() {
        return Err(DecodeError::Malformed("a target of half a kind"));
    }
    Ok(match kind {
        0 => Target::Chat { scope: name, chat },
        1 => Target::Account { scope: name },
        2 => Target::Address { platform: name },
        3 => Target::Unnamed { scope: name, chat },
        i64::MIN..=-1 | 4.. => {
            return Err(DecodeError::Malformed("a target that does not exist"));
        }
    })
}

fn read_penalise(input: &mut Reader<'_>) -> Result<Penalise> {
    Ok(Penalise {
        incarnation: input.id()?,
        target: read_target(input)?,
        wait: read_duration(input)?,
        id: input.option(Reader::id)?,
        operator: input.option(|input| input.string(MAX_OPERATOR_BYTES))?,
        reason: input.string(MAX_REASON_BYTES)?,
    })
}

/// A duration in microseconds.
pub(crate) fn read_duration(input: &mut Reader<'_>) -> Result<Duration> {
    u64::try_from(input.long()?)
        .map(Duration::from_micros)
        .map_err(|_| DecodeError::Malformed("a negative duration"))
}

fn read_snapshot(input: &mut Reader<'_>) -> Result<Snapshot> {
    let incarnation = input.id()?;
    let as_of = input.long()?;
    let time = LogTime(input.long()?);
    let mut hash = [0; 32];
    hash.copy_from_slice(input.take(32)?);
    let part = input.number(MAX_PARTS)?;
    let parts = input.number(MAX_PARTS)?;
    if part >= parts {
        return Err(DecodeError::Malformed("a part beyond the last"));
    }
    Ok(Snapshot {
        incarnation,
        as_of,
        time,
        hash: StateHash(hash),
        part,
        parts,
        state: input.bytes(MAX_PART_BYTES)?.to_vec(),
    })
}
