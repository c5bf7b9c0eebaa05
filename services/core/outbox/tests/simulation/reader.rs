//! One relay's shard: plans, reads in two steps (snapshot, then mark), publishes, and deletes what is acknowledged.

use tidings_outbox::{Cursor, InFlight, ReadPlan, ReadResult, RowsRead, Snapshot};

use crate::postgres::Postgres;
use crate::random::Random;
use crate::run::Rule;

#[derive(Debug)]
pub(crate) struct Reader {
    shard: u64,
    shards: u64,
    limit: usize,
    rule: Rule,
    cursor: Cursor,
    in_flight: InFlight,
    unacknowledged: Vec<i64>,
    planned: Option<ReadPlan>,
    reading: Option<Reading>,
    deleting: Option<(u64, Vec<i64>)>,
}

/// A read whose snapshot is taken and whose mark is not drawn yet.
#[derive(Debug)]
struct Reading {
    snapshot: Snapshot,
    ids: Vec<i64>,
}

impl Reader {
    pub(crate) fn new(
        shard: u64,
        shards: u64,
        limit: usize,
        max_tracked: usize,
        rule: Rule,
    ) -> Self {
        Self {
            shard,
            shards,
            limit,
            rule,
            cursor: Cursor::with_max_tracked(max_tracked),
            in_flight: InFlight::new(),
            unacknowledged: Vec::new(),
            planned: None,
            reading: None,
            deleting: None,
        }
    }

    /// Does the next thing that one session may do; returns the ids that it published.
    pub(crate) fn step(&mut self, postgres: &mut Postgres, random: &mut Random) -> Vec<i64> {
        if let Some(reading) = self.reading.take() {
            return self.finish_read(postgres, reading);
        }
        if let Some((xid, ids)) = self.deleting.take() {
            self.finish_delete(postgres, xid, &ids);
        } else if random.chance(40) && !self.unacknowledged.is_empty() {
            self.start_delete(postgres, random);
        } else {
            self.start_read(postgres, random);
        }
        Vec::new()
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.in_flight.is_empty() && self.reading.is_none()
    }

    fn start_read(&mut self, postgres: &Postgres, random: &mut Random) {
        let plan = match self.planned.take() {
            Some(plan) => plan,
            None => self.plan(random),
        };
        let snapshot = postgres.snapshot();
        let ended = plan
            .xids
            .iter()
            .zip(&plan.restarts)
            .filter(|(xid, _)| snapshot.ended(**xid));
        let start = ended
            .map(|(_, restart)| *restart)
            .fold(plan.position, i64::min);
        let mine = postgres
            .visible_after(start)
            .filter(|(_, row)| row.chat % self.shards == self.shard);
        let wanted = mine
            .map(|(id, _)| id)
            .filter(|id| plan.skip.binary_search(id).is_err());
        self.reading = Some(Reading {
            snapshot,
            ids: wanted.take(self.limit).collect(),
        });
    }

    fn plan(&self, random: &mut Random) -> ReadPlan {
        let safety_due = self.rule
            == Rule::Cursor {
                safety_passes: true,
            }
            && random.chance(10);
        let mut plan = self.cursor.plan(&self.in_flight, safety_due);
        match self.rule {
            Rule::Cursor { .. } | Rule::ListedOnly => {}
            Rule::NoRestart => plan.xids.clear(),
            Rule::RestartTooLate => plan.restarts.iter_mut().for_each(|restart| *restart += 1),
            Rule::NoSkip => plan.skip.clear(),
        }
        plan
    }

    fn finish_read(&mut self, postgres: &mut Postgres, reading: Reading) -> Vec<i64> {
        let rows = reading.ids.last().map(|last_id| {
            let drawn = postgres.assign();
            postgres.commit(drawn);
            let mark = if self.rule == Rule::ListedOnly {
                reading.snapshot.xmax()
            } else {
                drawn
            };
            RowsRead {
                last_id: *last_id,
                mark,
                truncated: reading.ids.len() == self.limit,
            }
        });
        self.cursor.absorb(ReadResult {
            snapshot: &reading.snapshot,
            rows,
        });
        for id in &reading.ids {
            self.in_flight.insert(*id);
        }
        self.unacknowledged.extend(&reading.ids);
        reading.ids
    }

    /// Acknowledgements arrive in any order. The next read may be planned before the delete is confirmed.
    fn start_delete(&mut self, postgres: &mut Postgres, random: &mut Random) {
        let (kept, acknowledged): (Vec<i64>, Vec<i64>) =
            self.unacknowledged.iter().partition(|_| random.chance(30));
        self.unacknowledged = kept;
        self.deleting = Some((postgres.assign(), acknowledged));
        if random.chance(50) {
            self.planned = Some(self.plan(random));
        }
    }

    fn finish_delete(&mut self, postgres: &mut Postgres, xid: u64, ids: &[i64]) {
        postgres.commit(xid);
        for id in ids {
            postgres.rows.get_mut(id).unwrap().deleted = true;
            self.in_flight.remove(*id);
        }
    }
}
