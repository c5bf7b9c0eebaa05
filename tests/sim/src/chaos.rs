//! Faults: processes that are killed, stopped and frozen, connections that are cut, servers that restart.

use tidings_delivery::PartitionId;

use crate::dispatcher::{Blow, Step, WorkerRef};
use crate::happening::Happening;
use crate::settings::{RELAYS, WORKERS};
use crate::times::{FAULTS_END, MILLI, SECOND, SESSION_TIMEOUT};
use crate::trace::note;
use crate::world::World;

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
    RestartRelay,
    KillRelaySession,
    /// Upstream's server restarts: open transactions roll back, sessions end.
    RestartUpstream,
}

impl Fault {
    pub(crate) const ALL: [Self; 16] = [
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
            Self::RestartRelay => "relays restarted in order",
            Self::KillRelaySession => "sessions of relays killed",
            Self::RestartUpstream => "restarts of upstream's database",
        }
    }
}

impl World {
    pub(crate) fn fault(&mut self) {
        if self.now >= FAULTS_END {
            return;
        }
        let kinds: Vec<Fault> = self.settings.faults.iter().copied().collect();
        if !kinds.is_empty() {
            let fault = self.random.pick(&kinds);
            note!(self, "fault         {fault:?}");
            self.counts.add(fault.name());
            self.inflict(fault);
        }
        let gap = self.settings.fault_gap;
        self.after(10 * MILLI, gap, Happening::Fault);
    }

    fn inflict(&mut self, fault: Fault) {
        let worker = self.random.below(WORKERS);
        let relay = self.random.below(RELAYS);
        let wait = self.random.between(100 * MILLI, 3 * SECOND);
        match fault {
            Fault::KillWorker => self.end_worker(worker),
            Fault::FreezeWorker => self.freeze_worker(worker),
            Fault::RestartWorker => self.stop_worker(worker),
            Fault::TrapWorker => {
                let step = self.random.pick(&Step::ALL);
                let blow = self.random.pick(&[Blow::Kill, Blow::Freeze, Blow::Freeze]);
                self.workers[worker].trap = Some((step, blow));
            }
            Fault::KillAllWorkers => (0..WORKERS).for_each(|worker| self.end_worker(worker)),
            Fault::CutWorkerFromKafka => self.cut_from_kafka(worker),
            Fault::CutWorkerFromPostgres => {
                self.workers[worker].cut_from_postgres_until = self.now + 3 * wait;
            }
            Fault::RestartPostgres => self.restart_claims(self.now + wait),
            Fault::MovePartition => {
                let partition = self.any_partition();
                self.move_partition(partition);
            }
            Fault::ForgetCommits => {
                let partition = self.any_partition();
                self.kafka.forgets.insert(partition);
                self.take_back(partition);
            }
            Fault::StopBrokers => self.kafka.down_until = self.now + 2 * wait,
            Fault::KillRelay => self.end_relay_if_alive(relay),
            Fault::FreezeRelay => self.freeze_relay(relay),
            Fault::RestartRelay => self.stop_relay(relay),
            Fault::KillRelaySession => self.kill_a_session(relay, wait),
            Fault::RestartUpstream => self.restart_upstream(),
        }
    }

    /// If a fault waits for this step of a worker, it strikes at once or a moment later.
    pub(crate) fn spring(&mut self, at: WorkerRef, step: Step) {
        let trap = self.workers[at.worker].trap;
        let Some((_, blow)) = trap.filter(|(awaited, _)| *awaited == step) else {
            return;
        };
        self.workers[at.worker].trap = None;
        let most = self.random.pick(&[0, 500, 3 * MILLI, 60 * MILLI]);
        self.after(0, most, Happening::Blow(at, blow));
    }

    pub(crate) fn blow(&mut self, at: WorkerRef, blow: Blow) {
        if !self.lives(at) {
            return;
        }
        note!(self, "fault         {at}: {blow:?}");
        match blow {
            Blow::Kill => {
                self.counts.add("workers killed at a step");
                self.end_worker(at.worker);
            }
            Blow::Freeze => {
                self.counts.add("workers frozen at a step");
                self.freeze_worker(at.worker);
            }
        }
    }

    fn any_partition(&mut self) -> PartitionId {
        let ids: Vec<PartitionId> = self.kafka.logs.keys().copied().collect();
        self.random.pick(&ids)
    }

    fn freeze_worker(&mut self, worker: usize) {
        let long = self.random.between(100 * MILLI, 15 * SECOND);
        let until = self.now + long;
        let frozen = &mut self.workers[worker].frozen_until;
        *frozen = until.max(*frozen);
        if long > SESSION_TIMEOUT {
            self.watch(self.reference(worker));
        }
    }

    fn cut_from_kafka(&mut self, worker: usize) {
        let long = self.random.between(SECOND, 12 * SECOND);
        self.workers[worker].cut_from_kafka_until = self.now + long;
        self.watch(self.reference(worker));
    }

    fn end_relay_if_alive(&mut self, relay: usize) {
        if self.relays[relay].alive {
            self.end_relay(relay);
        }
    }

    fn freeze_relay(&mut self, relay: usize) {
        let until = self.now + self.random.between(100 * MILLI, 10 * SECOND);
        let frozen = &mut self.relays[relay].frozen_until;
        *frozen = until.max(*frozen);
    }

    fn kill_a_session(&mut self, relay: usize, notice_in: u64) {
        let owned: Vec<u32> = self.relays[relay].shards.keys().copied().collect();
        if owned.is_empty() {
            return;
        }
        let shard = self.random.pick(&owned);
        if let Some(session) = self.session_of(relay, shard) {
            self.kill_session(session, notice_in);
        }
    }

    fn restart_upstream(&mut self) {
        let sessions: Vec<_> = self.outbox.sessions.keys().copied().collect();
        for session in sessions {
            self.kill_session(session, SECOND);
        }
        for xid in self.open.clone() {
            self.roll_back(xid);
        }
    }
}
