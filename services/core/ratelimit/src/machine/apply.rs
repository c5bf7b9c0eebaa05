//! A record after the other.

use uuid::Uuid;

use super::{ApplyError, MAX_ADVANCE, Machine, Refusal, SNAPSHOT_AFTER, SNAPSHOT_OFFSETS, State};
use crate::record::{Body, DecodeError, Limits, Record, Reserve, Reset};
use crate::time::micros;
use crate::{Class, LogTime, Snapshot, Target};

/// What a record did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The time of the log at this record.
    pub time: LogTime,
    /// What it did.
    pub what: What,
    /// A snapshot of the state after it is due, from whoever wrote it, else from anybody.
    pub snapshot_due: bool,
}

/// What a record did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Nothing: no record at all.
    Malformed(&'static str),
    /// Nothing: written for another log, or before the log was begun.
    OtherLog(Uuid),
    /// Nothing: this `seq` was seen.
    Repeated {
        /// Whose.
        incarnation: Uuid,
        /// Which.
        seq: u64,
    },
    /// Nothing: this wish of an operator was carried out before.
    RepeatedWish(Uuid),
    /// Began the log anew.
    Begun,
    /// Began a scope, or found it begun.
    Scope(String),
    /// Gave and refused permits.
    Served {
        /// To whom.
        incarnation: Uuid,
        /// For which `Reserve`.
        seq: u64,
        /// In which class.
        class: Class,
        /// In the order of the record.
        asks: Vec<ServedAsk>,
    },
    /// Holds, each until a time.
    Penalised {
        /// Who said so.
        incarnation: Uuid,
        /// What.
        held: Vec<(Target, LogTime)>,
        /// What the record named.
        named: Target,
    },
    /// Ended holds.
    Reset(Reset),
    /// Changed a scope's limits, or the version.
    Limits(Limits),
    /// Let time pass.
    Ticked {
        /// A late reader waits for a snapshot.
        snapshot: bool,
    },
    /// Changed nothing: an earlier state, to be compared.
    Snapshot(Snapshot),
}

/// What one ask got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedAsk {
    /// The scope.
    pub scope: String,
    /// In the order of the entries.
    pub entries: Vec<Served>,
    /// When the asker's turn comes, if it was refused something for the scope's sake.
    pub turn: Option<LogTime>,
}

/// What one entry got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The chat.
    pub chat: String,
    /// When its messages may start.
    pub granted: Vec<LogTime>,
    /// Why it did not get all, and when to expect more.
    pub refused: Option<Refusal>,
}

impl Machine {
    /// Applies the next record.
    ///
    /// # Errors
    /// [`ApplyError`]; the machine must then be given up.
    pub fn apply(
        &mut self,
        offset: i64,
        append_time_millis: i64,
        value: &[u8],
    ) -> Result<Applied, ApplyError> {
        let record = match Record::decode(value) {
            Ok(record) => Ok(record),
            Err(DecodeError::Malformed(why)) => Err(why),
            Err(later @ DecodeError::LaterVersion(_)) => return Err(later.into()),
        };
        self.apply_decoded(offset, append_time_millis, record)
    }

    /// As [`Machine::apply`], for a record that was read before; or why the value is none.
    ///
    /// # Errors
    /// As there.
    pub fn apply_decoded(
        &mut self,
        offset: i64,
        append_time_millis: i64,
        record: Result<Record, &'static str>,
    ) -> Result<Applied, ApplyError> {
        let begun = !self.state.log_id.is_nil();
        let expected = self.state.offset.saturating_add(1);
        if begun && offset != expected {
            return Err(ApplyError::Gap {
                expected,
                found: offset,
            });
        }
        self.check_version(record.as_ref().ok())?;
        let crossed = self.state.advance(offset, append_time_millis);
        let what = match record {
            Err(why) => What::Malformed(why),
            Ok(record) => self.state.perform(record),
        };
        let snapshot_due = self.state.is_snapshot_due(crossed, &what);
        if snapshot_due {
            self.state.snapshot_time = self.state.time;
            self.state.forget_absent();
        }
        Ok(Applied {
            time: self.state.time,
            what,
            snapshot_due,
        })
    }

    /// A worker that lacks the version in force stops: what the records mean from there on is not known to it.
    fn check_version(&self, record: Option<&Record>) -> Result<(), ApplyError> {
        match record {
            Some(Record {
                log_id,
                body: Body::Limits(limits),
            }) if *log_id == self.state.log_id && limits.machine_version > self.supported => {
                Err(ApplyError::MachineVersion {
                    wanted: limits.machine_version,
                    supported: self.supported,
                })
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl State {
    /// Lets time pass up to a record, and tells whether it crosses an offset of snapshots.
    fn advance(&mut self, offset: i64, append_time_millis: i64) -> bool {
        let gap = append_time_millis
            .saturating_sub(self.append_time_millis)
            .saturating_mul(1_000);
        let most = micros(MAX_ADVANCE);
        let believed = match gap {
            gap if gap <= 0 => 0,
            gap if gap <= most => gap,
            _ if self.long_gap => most,
            _ => 0,
        };
        self.long_gap = gap > most;
        self.time = LogTime(self.time.0.saturating_add(believed));
        self.append_time_millis = append_time_millis;
        let crossed =
            offset.div_euclid(SNAPSHOT_OFFSETS) > self.offset.div_euclid(SNAPSHOT_OFFSETS);
        self.offset = offset;
        crossed
    }

    fn perform(&mut self, record: Record) -> What {
        let Record { log_id, body } = record;
        let ours = log_id == self.log_id && !log_id.is_nil();
        match body {
            Body::Init(init) if init.scope.is_none() && !log_id.is_nil() => {
                self.begin_log(log_id);
                What::Begun
            }
            Body::Tick(tick) if ours || log_id.is_nil() => What::Ticked {
                snapshot: tick.snapshot,
            },
            Body::Init(_)
            | Body::Reserve(_)
            | Body::Penalise(_)
            | Body::Reset(_)
            | Body::Limits(_)
            | Body::Tick(_)
            | Body::Snapshot(_)
                if !ours =>
            {
                What::OtherLog(log_id)
            }
            Body::Init(init) => match init.scope {
                None => What::Malformed("a log without an id"),
                Some((name, limits)) => {
                    self.begin_scope(&name, limits);
                    What::Scope(name)
                }
            },
            Body::Reserve(reserve) => self.reserve(reserve),
            Body::Penalise(penalise) => {
                let held = self.penalise(&penalise);
                What::Penalised {
                    incarnation: penalise.incarnation,
                    held,
                    named: penalise.target,
                }
            }
            Body::Reset(reset) => {
                if !self.note_wish(reset.id) {
                    return What::RepeatedWish(reset.id);
                }
                self.reset(&reset.target);
                What::Reset(reset)
            }
            Body::Limits(limits) => self.change_limits(limits),
            Body::Tick(tick) => What::Ticked {
                snapshot: tick.snapshot,
            },
            Body::Snapshot(snapshot) => What::Snapshot(snapshot),
        }
    }

    fn change_limits(&mut self, limits: Limits) -> What {
        self.version = self.version.max(limits.machine_version);
        let now = self.time;
        if !self.note_wish(limits.id) {
            return What::RepeatedWish(limits.id);
        }
        match &limits.scope {
            None => {}
            Some((name, wanted)) => match self.scopes.get_mut(name.as_str()) {
                None => self.begin_scope(name, wanted.clone()),
                Some(scope) => {
                    scope.change(wanted.clone(), now);
                    self.live_until = self.live_until.max(scope.live_until());
                }
            },
        }
        What::Limits(limits)
    }

    fn reserve(&mut self, reserve: Reserve) -> What {
        let Reserve {
            incarnation,
            seq,
            class,
            leeway,
            asks,
        } = reserve;
        if !self.note_seq(incarnation, seq) {
            return What::Repeated { incarnation, seq };
        }
        let asks = asks
            .into_iter()
            .map(|ask| self.serve(incarnation, class, leeway, ask))
            .collect();
        What::Served {
            incarnation,
            seq,
            class,
            asks,
        }
    }

    fn is_snapshot_due(&self, crossed: bool, what: &What) -> bool {
        let waited = self.snapshot_time.after(SNAPSHOT_AFTER) <= self.time;
        let begun = !self.log_id.is_nil();
        begun && (crossed || waited || matches!(what, What::Ticked { snapshot: true }))
    }
}
