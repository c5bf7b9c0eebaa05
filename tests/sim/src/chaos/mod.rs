//! Faults: processes that are killed, stopped and frozen, connections that are cut, servers that restart.

mod inflict;
mod traps;

pub(crate) use traps::{Blow, RelayStep, Step};

/// A kind of fault (reference/faults.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    KillWorker,
    /// SIGSTOP, maybe beyond the lease and the session timeout, then CONT.
    FreezeWorker,
    /// SIGTERM, then a new process.
    RestartWorker,
    /// The same two, at a step of a record's way.
    TrapWorker,
    KillAllWorkers,
    CutWorkerFromKafka,
    CutWorkerFromPostgres,
    RestartPostgres,
    MovePartition,
    ForgetCommits,
    StopBrokers,
    KillRelay,
    FreezeRelay,
    /// The same two, at a step of a row's way.
    TrapRelay,
    RestartRelay,
    KillRelaySession,
    /// Upstream's server restarts: open transactions roll back, sessions end.
    RestartUpstream,
}

impl Fault {
    pub(crate) const ALL: [Self; 17] = [
        Self::KillWorker,
        Self::FreezeWorker,
        Self::RestartWorker,
        Self::TrapWorker,
        Self::KillAllWorkers,
        Self::CutWorkerFromKafka,
        Self::CutWorkerFromPostgres,
        Self::RestartPostgres,
        Self::MovePartition,
        Self::ForgetCommits,
        Self::StopBrokers,
        Self::KillRelay,
        Self::FreezeRelay,
        Self::TrapRelay,
        Self::RestartRelay,
        Self::KillRelaySession,
        Self::RestartUpstream,
    ];

    /// Those that are no faults: what operators do every day.
    pub(crate) const ORDERLY: [Self; 3] =
        [Self::RestartWorker, Self::MovePartition, Self::RestartRelay];

    /// The name under which it is counted.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::KillWorker => "workers killed",
            Self::FreezeWorker => "workers frozen",
            Self::RestartWorker => "workers restarted in order",
            Self::TrapWorker => "traps for workers",
            Self::KillAllWorkers => "all workers killed at once",
            Self::CutWorkerFromKafka => "workers cut off from Kafka",
            Self::CutWorkerFromPostgres => "workers cut off from Postgres",
            Self::RestartPostgres => "restarts of Postgres",
            Self::MovePartition => "partitions moved",
            Self::ForgetCommits => "commits to be forgotten",
            Self::StopBrokers => "outages of Kafka",
            Self::KillRelay => "relays killed",
            Self::FreezeRelay => "relays frozen",
            Self::TrapRelay => "traps for relays",
            Self::RestartRelay => "relays restarted in order",
            Self::KillRelaySession => "sessions of relays killed",
            Self::RestartUpstream => "restarts of upstream's database",
        }
    }
}
