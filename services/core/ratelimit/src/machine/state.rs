//! The state as bytes: for hashes, and for snapshots that late readers begin from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::chats::{Chat, is_group};
use super::line::Line;
use super::scope::{MAX_LIVE_CHATS, Scope};
use super::usage::{Rules, Usage};
use super::{
    Hold, Incarnation, MAX_ADDRESSES, MAX_INCARNATIONS, MAX_SCOPES, MAX_WISHES, Machine, State,
};
use crate::record::{DecodeError, MAX_NAME_BYTES, Reader, Writer};
use crate::{LogTime, ScopeLimits, StateHash};

/// The version of this encoding.
const FORMAT: i64 = 1;

/// Why a snapshot cannot be begun from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// The state is not the one that the snapshot names.
    #[error("the state does not have the hash that its snapshot names")]
    Hash,
    /// The bytes are no state.
    #[error("the bytes are no state")]
    Malformed(#[from] DecodeError),
    /// It is of a later machine.
    #[error("the state is of machine version {wanted}, and this program has {supported}")]
    MachineVersion {
        /// Of the state.
        wanted: u32,
        /// Known here.
        supported: u32,
    },
}

impl StateHash {
    /// The hash of a state's bytes.
    pub fn of(state: &[u8]) -> Self {
        Self(Sha256::digest(state).into())
    }
}

impl Machine {
    /// The whole state; equal bytes mean equal machines.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.long(FORMAT);
        self.state.write(&mut out);
        out.0
    }

    /// A replica that goes on after the record that the state ends with.
    ///
    /// # Errors
    /// [`RestoreError`] for bytes that are not exactly what [`Machine::encode`] made under a known version.
    pub fn restore(bytes: &[u8], hash: StateHash, supported: u32) -> Result<Self, RestoreError> {
        if StateHash::of(bytes) != hash {
            return Err(RestoreError::Hash);
        }
        let mut input = Reader::new(bytes);
        if input.long()? != FORMAT {
            return Err(DecodeError::Malformed("another format").into());
        }
        let state = State::read(&mut input, supported)?;
        input.end()?;
        Ok(Self { supported, state })
    }
}

impl State {
    fn write(&self, out: &mut Writer) {
        out.count(self.version);
        out.id(self.log_id);
        out.long(self.offset);
        out.long(self.append_time_millis);
        out.bool(self.long_gap);
        out.long(self.time.0);
        out.long(self.live_until.0);
        out.long(self.snapshot_time.0);
        out.array(self.incarnations.iter(), |out, (id, known)| {
            out.id(*id);
            out.count(known.seq);
            out.long(known.seen.0);
        });
        out.array(self.addresses.iter(), |out, (platform, hold)| {
            out.string(platform);
            hold.write(out);
        });
        out.array(self.wishes.iter(), |out, id| out.id(*id));
        out.array(self.scopes.iter(), |out, (name, scope)| {
            out.string(name);
            scope.write(out);
        });
    }

    fn read(input: &mut Reader<'_>, supported: u32) -> Result<Self, RestoreError> {
        let version = input.number(u32::MAX)?;
        if version > supported {
            return Err(RestoreError::MachineVersion {
                wanted: version,
                supported,
            });
        }
        Ok(Self {
            version,
            log_id: input.id()?,
            offset: input.long()?,
            append_time_millis: input.long()?,
            long_gap: input.bool()?,
            time: LogTime(input.long()?),
            live_until: LogTime(input.long()?),
            snapshot_time: LogTime(input.long()?),
            incarnations: read_incarnations(input)?,
            addresses: read_addresses(input)?,
            wishes: input.array(MAX_WISHES, Reader::id)?.into(),
            scopes: read_scopes(input)?,
        })
    }
}

fn read_incarnations(input: &mut Reader<'_>) -> Result<BTreeMap<Uuid, Incarnation>, DecodeError> {
    let read = |input: &mut Reader<'_>| {
        let id = input.id()?;
        let seq = u64::try_from(input.long()?)
            .map_err(|_| DecodeError::Malformed("a negative number"))?;
        let seen = LogTime(input.long()?);
        Ok((id, Incarnation { seq, seen }))
    };
    Ok(input.array(MAX_INCARNATIONS, read)?.into_iter().collect())
}

fn read_addresses(input: &mut Reader<'_>) -> Result<BTreeMap<Arc<str>, Hold>, DecodeError> {
    let read = |input: &mut Reader<'_>| Ok((read_name(input)?, Hold::read(input)?));
    Ok(input.array(MAX_ADDRESSES, read)?.into_iter().collect())
}

fn read_scopes(input: &mut Reader<'_>) -> Result<BTreeMap<Arc<str>, Scope>, DecodeError> {
    let read = |input: &mut Reader<'_>| Ok((read_name(input)?, Scope::read(input)?));
    Ok(input.array(MAX_SCOPES, read)?.into_iter().collect())
}

fn read_name(input: &mut Reader<'_>) -> Result<Arc<str>, DecodeError> {
    input.string(MAX_NAME_BYTES).map(Arc::from)
}

impl Hold {
    fn write(&self, out: &mut Writer) {
        out.long(self.until.0);
        out.option(self.id, Writer::id);
    }

    fn read(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            until: LogTime(input.long()?),
            id: input.option(Reader::id)?,
        })
    }
}

impl Scope {
    fn write(&self, out: &mut Writer) {
        self.limits.write(out);
        self.rules.write(out);
        self.chat_rules.write(out);
        self.group_rules.write(out);
        self.usage.write(out);
        out.long(self.last.0);
        out.long(self.paced_until.0);
        self.hold.write(out);
        out.option(self.unnamed.as_ref(), |out, (chat, at, until)| {
            out.string(chat);
            out.long(at.0);
            out.long(until.0);
        });
        self.line.write(out);
        out.array(self.chats.iter(), |out, (id, chat)| {
            out.string(id);
            chat.usage.write(out);
            chat.hold.write(out);
        });
    }

    fn read(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let limits = ScopeLimits::read(input)?;
        let rules = Rules::read(input, limits.scope.iter())?;
        let chat_rules = Rules::read(input, limits.chat.iter())?;
        let group_rules = Rules::read(input, limits.chat.iter().chain(&limits.group))?;
        let mut scope = Self {
            usage: Usage::read(input, &rules)?,
            last: LogTime(input.long()?),
            paced_until: LogTime(input.long()?),
            hold: Hold::read(input)?,
            unnamed: input.option(|input| {
                Ok((
                    read_name(input)?,
                    LogTime(input.long()?),
                    LogTime(input.long()?),
                ))
            })?,
            line: Line::read(input)?,
            chats: read_chats(input, &chat_rules, &group_rules)?,
            cleanup: BTreeSet::new(),
            limits,
            rules,
            chat_rules,
            group_rules,
        };
        scope.index_chats();
        Ok(scope)
    }
}

fn read_chats(
    input: &mut Reader<'_>,
    chat_rules: &Rules,
    group_rules: &Rules,
) -> Result<BTreeMap<Arc<str>, Chat>, DecodeError> {
    let read = |input: &mut Reader<'_>| {
        let id = read_name(input)?;
        let rules = if is_group(&id) {
            group_rules
        } else {
            chat_rules
        };
        let chat = Chat {
            usage: Usage::read(input, rules)?,
            hold: Hold::read(input)?,
        };
        Ok((id, chat))
    };
    Ok(input.array(2 * MAX_LIVE_CHATS, read)?.into_iter().collect())
}
