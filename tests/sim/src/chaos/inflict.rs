//! Faults, inflicted: at random moments until they end.

use tidings_delivery::PartitionId;

use super::{Blow, Fault, RelayStep, Step};
use crate::happening::Happening;
use crate::settings::{RELAYS, WORKERS};
use crate::times::{FAULTS_END, MILLI, SECOND, SESSION_TIMEOUT};
use crate::trace::note;
use crate::world::World;

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
                let trap = (self.random.pick(&Step::ALL), self.random.pick(&Blow::ALL));
                self.workers[worker].trap = Some(trap);
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
            Fault::TrapRelay => {
                let trap = (
                    self.random.pick(&RelayStep::ALL),
                    self.random.pick(&Blow::ALL),
                );
                self.relays[relay].trap = Some(trap);
            }
            Fault::RestartRelay => self.stop_relay(relay),
            Fault::KillRelaySession => self.kill_a_session(relay, wait),
            Fault::RestartUpstream => self.restart_upstream(),
        }
    }

    fn any_partition(&mut self) -> PartitionId {
        let ids: Vec<PartitionId> = self.kafka.logs.keys().copied().collect();
        self.random.pick(&ids)
    }

    pub(super) fn freeze_worker(&mut self, worker: usize) {
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

    pub(super) fn end_relay_if_alive(&mut self, relay: usize) {
        if self.relays[relay].alive {
            self.end_relay(relay);
        }
    }

    pub(super) fn freeze_relay(&mut self, relay: usize) {
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
