use std::collections::BTreeSet;

use crate::chaos::Fault;
use crate::random::Random;
use crate::times::{MILLI, SECOND};

/// Relays, shards, workers and lanes of every world.
pub(crate) const RELAYS: usize = 2;
pub(crate) const SHARDS: u32 = 2;
pub(crate) const WORKERS: usize = 3;
pub(crate) const LANES: u16 = 2;

/// What a seed draws for its whole world. Each seed has its own mixture: what always happens together hides what
/// happens alone.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Nothing goes wrong; processes come and go in order.
    pub(crate) calm: bool,
    pub(crate) chats: usize,
    pub(crate) partitions: i32,
    pub(crate) transactions: usize,
    pub(crate) park_permille: u64,
    /// Gap between two upstream transactions, at most.
    pub(crate) upstream_gap: u64,
    pub(crate) read_rows: usize,
    pub(crate) max_in_flight_rows: usize,
    pub(crate) max_tracked: usize,
    pub(crate) faults: BTreeSet<Fault>,
    /// Gap between two faults, at most.
    pub(crate) fault_gap: u64,
    /// Statements of a dispatcher that are not carried out, or not answered.
    pub(crate) lost_statements_permille: u64,
    /// Statements that are carried out seconds late.
    pub(crate) slow_statements_permille: u64,
    /// Requests and acknowledgements of producers that are lost.
    pub(crate) lost_requests_permille: u64,
    /// Answers of the platform that are anything but the expected one.
    pub(crate) odd_answers_permille: u64,
    pub(crate) unencodable_permille: u64,
    /// The longest that a chat's head waits in memory.
    pub(crate) hold_in_memory: u64,
}

impl Settings {
    pub(crate) fn draw(random: &mut Random) -> Self {
        let calm = random.chance(80);
        let faults: &[Fault] = if calm { &Fault::ORDERLY } else { &Fault::ALL };
        Self {
            calm,
            chats: random.pick(&[1, 2, 4, 9]),
            partitions: random.pick(&[1, 2, 3]),
            transactions: random.between(5, 60) as usize,
            park_permille: random.pick(&[0, 400, 1_000]),
            upstream_gap: random.pick(&[50_000, 400_000, 1_200_000]),
            read_rows: random.pick(&[1, 3, 10, 100]),
            max_in_flight_rows: random.pick(&[4, 16, 1_000]),
            max_tracked: random.pick(&[1, 3, 4_096]),
            faults: faults
                .iter()
                .copied()
                .filter(|_| random.chance(500))
                .collect(),
            fault_gap: random.pick(&[1_000_000, 3_000_000, 8_000_000]),
            lost_statements_permille: random.pick(&[0, 10, 60]),
            slow_statements_permille: random.pick(&[0, 20, 80]),
            lost_requests_permille: random.pick(&[0, 20, 200]),
            odd_answers_permille: random.pick(&[0, 100, 350]),
            unencodable_permille: random.pick(&[0, 30]),
            hold_in_memory: random.pick(&[20 * MILLI, 300 * MILLI, 2 * SECOND, 30 * SECOND]),
        }
    }
}
