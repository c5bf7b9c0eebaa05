use std::time::Duration;

use uuid::Uuid;

use crate::machine::MACHINE_VERSION;

/// How a limiter is set up. The defaults are the design's.
#[derive(Debug, Clone)]
pub struct Options {
    /// The id of this process: a new one at each start.
    pub incarnation: Uuid,
    /// For what must differ between workers.
    pub seed: u64,
    /// The latest version of the machine that this program has.
    pub machine_version: u32,
    /// An ask that was not read back by then is asked again (1 s).
    pub ask_timeout: Duration,
    /// Permits are asked for at least this long before they can be used, so that none lapses on the way (60 ms).
    pub lead: Duration,
    /// Silence after which a tick is due while something is live (200 ms), and what is added at random (50 ms).
    pub tick_after: Duration,
    /// See there.
    pub tick_spread: Duration,
    /// What a record of ours, or of a penalty, waits before it is written again when it was not read back (1 s).
    pub repeat_after: Duration,
    /// How long the worker whose record made a snapshot due has to write it, before others do (2 s, and as much at
    /// random).
    pub snapshot_takeover: Duration,
    /// A snapshot is asked for after this long without one, whatever happened (1 h), so that retention never takes the
    /// last one.
    pub snapshot_keepalive: Duration,
    /// How far before the end the newest snapshot is looked for at first (25,000 records: more than two
    /// [`SNAPSHOT_OFFSETS`](crate::SNAPSHOT_OFFSETS)).
    pub search_back: i64,
    /// How long others have to write a snapshot for a late reader that finds none, before it begins the log anew
    /// (1.5 s, and a third of that at random).
    pub begin_after: Duration,
    /// The most messages that wait here (100,000).
    pub max_wants: usize,
}

impl Options {
    /// The defaults, for one process.
    pub fn new(incarnation: Uuid, seed: u64) -> Self {
        Self {
            incarnation,
            seed,
            machine_version: MACHINE_VERSION,
            ask_timeout: Duration::from_secs(1),
            lead: Duration::from_millis(60),
            tick_after: Duration::from_millis(200),
            tick_spread: Duration::from_millis(50),
            repeat_after: Duration::from_secs(1),
            snapshot_takeover: Duration::from_secs(2),
            snapshot_keepalive: Duration::from_secs(3_600),
            search_back: 25_000,
            begin_after: Duration::from_millis(1_500),
            max_wants: 100_000,
        }
    }
}
