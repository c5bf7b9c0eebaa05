use super::{
    Body, FIRST_VERSION, Init, Limits, Penalise, Record, Reserve, Reset, SCHEMA_VERSION, Snapshot,
    Target, Tick, Writer,
};
use crate::time::micros;

/// The first byte of every record.
pub(super) const MAGIC: u8 = b'R';

impl Record {
    /// The bytes of the record's value. Whoever builds a record keeps to the sizes of this module; what exceeds them is
    /// ignored by every reader.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer(vec![MAGIC, self.version()]);
        out.id(self.log_id);
        match &self.body {
            Body::Init(init) => write_init(&mut out, init),
            Body::Reserve(reserve) => write_reserve(&mut out, reserve),
            Body::Penalise(penalise) => write_penalise(&mut out, penalise),
            Body::Reset(reset) => write_reset(&mut out, reset),
            Body::Limits(limits) => write_limits(&mut out, limits),
            Body::Tick(tick) => write_tick(&mut out, tick),
            Body::Snapshot(snapshot) => write_snapshot(&mut out, snapshot),
        }
        out.0
    }

    fn version(&self) -> u8 {
        match &self.body {
            Body::Reserve(reserve) if !reserve.leeway.is_zero() => SCHEMA_VERSION,
            Body::Init(_)
            | Body::Reserve(_)
            | Body::Penalise(_)
            | Body::Reset(_)
            | Body::Limits(_)
            | Body::Tick(_)
            | Body::Snapshot(_) => FIRST_VERSION,
        }
    }

    /// The Kafka key: the scope that the record is about, else empty. For people who read the topic; its one partition
    /// needs no key.
    pub fn key(&self) -> &str {
        match &self.body {
            Body::Init(Init { scope, .. }) | Body::Limits(Limits { scope, .. }) => {
                scope.as_ref().map_or("", |(scope, _)| scope)
            }
            Body::Reserve(reserve) => reserve.asks.first().map_or("", |ask| &ask.scope),
            Body::Penalise(Penalise { target, .. }) | Body::Reset(Reset { target, .. }) => {
                target.name()
            }
            Body::Tick(_) | Body::Snapshot(_) => "",
        }
    }
}

impl Target {
    /// The scope, or the platform of an address.
    pub fn name(&self) -> &str {
        match self {
            Self::Chat { scope, .. } | Self::Account { scope } | Self::Unnamed { scope, .. } => {
                scope
            }
            Self::Address { platform } => platform,
        }
    }

    /// The chat, if it is about one.
    pub fn chat(&self) -> Option<&str> {
        match self {
            Self::Chat { chat, .. } | Self::Unnamed { chat, .. } => Some(chat),
            Self::Account { .. } | Self::Address { .. } => None,
        }
    }

    fn kind(&self) -> i64 {
        match self {
            Self::Chat { .. } => 0,
            Self::Account { .. } => 1,
            Self::Address { .. } => 2,
            Self::Unnamed { .. } => 3,
        }
    }
}

fn write_init(out: &mut Writer, init: &Init) {
    out.long(0);
    out.id(init.incarnation);
    write_scope(out, init.scope.as_ref());
}

fn write_scope(out: &mut Writer, scope: Option<&(String, crate::ScopeLimits)>) {
    out.option(scope, |out, (scope, limits)| {
        out.string(scope);
        limits.write(out);
    });
}

fn write_reserve(out: &mut Writer, reserve: &Reserve) {
    if reserve.leeway.is_zero() {
        out.long(1);
    } else {
        out.long(7);
        out.long(micros(reserve.leeway));
    }
    out.id(reserve.incarnation);
    out.count(reserve.seq);
    out.count(reserve.class.index());
    out.array(reserve.asks.iter(), |out, ask| {
        out.string(&ask.scope);
        out.count(ask.waiting);
        out.array(ask.entries.iter(), |out, entry| {
            out.string(&entry.chat);
            out.count(entry.n);
        });
    });
}

fn write_target(out: &mut Writer, target: &Target) {
    out.long(target.kind());
    out.string(target.name());
    out.string(target.chat().unwrap_or_default());
}

fn write_penalise(out: &mut Writer, penalise: &Penalise) {
    out.long(2);
    out.id(penalise.incarnation);
    write_target(out, &penalise.target);
    out.long(micros(penalise.wait));
    out.option(penalise.id, Writer::id);
    out.option(penalise.operator.as_deref(), Writer::string);
    out.string(&penalise.reason);
}

fn write_reset(out: &mut Writer, reset: &Reset) {
    out.long(3);
    out.id(reset.id);
    write_target(out, &reset.target);
    out.string(&reset.operator);
    out.string(&reset.reason);
}

fn write_limits(out: &mut Writer, limits: &Limits) {
    out.long(4);
    out.id(limits.id);
    out.count(limits.machine_version);
    write_scope(out, limits.scope.as_ref());
    out.string(&limits.operator);
    out.string(&limits.reason);
}

fn write_tick(out: &mut Writer, tick: &Tick) {
    out.long(5);
    out.id(tick.incarnation);
    out.bool(tick.snapshot);
}

fn write_snapshot(out: &mut Writer, snapshot: &Snapshot) {
    out.long(6);
    out.id(snapshot.incarnation);
    out.long(snapshot.as_of);
    out.long(snapshot.time.0);
    out.0.extend_from_slice(&snapshot.hash.0);
    out.count(snapshot.part);
    out.count(snapshot.parts);
    out.bytes(&snapshot.state);
}
