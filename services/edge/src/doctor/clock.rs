//! The clocks of this machine and of the databases' servers.
//!
//! Leases, epochs and limits go by a server's clock or by durations, so that a worker's clock breaks no promise
//! (design §7, §9). What does go by it: when a message expires, a platform's hint that names a date, the times in
//! traces. Upstream's clock dates the events, state's the days whose claims are dropped.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{Finding, server};
use crate::config::{Config, DatabaseConfig};
use crate::postgres::PostgresError;

pub(super) const CHECK: &str = "clock";

/// More than this is worth a look.
const NOTICEABLE: Duration = Duration::from_secs(1);

/// How far a server's clock is ahead of this machine's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    key: &'static str,
    ahead_micros: i64,
    /// Half the round trip of the question.
    uncertain: Duration,
}

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    let databases = [
        ("upstream.database", &config.upstream),
        ("state.database", &config.state),
    ];
    let mut readings = Vec::new();
    for (key, database) in databases {
        // A server that is not to be had is the other checks' to report.
        readings.extend(read(key, database).await.ok());
    }
    judge(&readings)
}

async fn read(key: &'static str, database: &DatabaseConfig) -> Result<Reading, PostgresError> {
    let session = server::open(database).await?;
    let failed = || PostgresError::doing("read the clock");
    let sql = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";
    let statement = session.client.prepare(sql).await.map_err(failed())?;
    let asked = Instant::now();
    let row = session.client.query_one(&statement, &[]).await;
    let uncertain = asked.elapsed() / 2;
    let here = SystemTime::now().duration_since(UNIX_EPOCH);
    let here = here.map_or(0, |since| since.saturating_sub(uncertain).as_micros());
    let there: i64 = row.map_err(failed())?.try_get(0).map_err(failed())?;
    Ok(Reading {
        key,
        ahead_micros: there.saturating_sub(i64::try_from(here).unwrap_or(i64::MAX)),
        uncertain,
    })
}

pub(super) fn judge(readings: &[Reading]) -> Vec<Finding> {
    let off = readings.iter().filter(|reading| {
        let ahead = Duration::from_micros(reading.ahead_micros.unsigned_abs());
        ahead.saturating_sub(reading.uncertain) > NOTICEABLE
    });
    let findings: Vec<Finding> = off.map(warning).collect();
    match (findings.as_slice(), readings) {
        ([], []) => vec![Finding::ok(CHECK, "not compared: no database answered")],
        ([], [..]) => vec![Finding::ok(
            CHECK,
            "this machine's and the databases' agree within a second",
        )],
        ([..], _) => findings,
    }
}

fn warning(reading: &Reading) -> Finding {
    let seconds = Duration::from_micros(reading.ahead_micros.unsigned_abs()).as_secs_f64();
    let direction = if reading.ahead_micros > 0 {
        "ahead of"
    } else {
        "behind"
    };
    Finding::warning(
        CHECK,
        reading.key,
        format!("the server's clock is {seconds:.1} s {direction} this machine's"),
        "let both follow NTP: messages expire, and traces are dated, by the clock of the machine they are on",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Health;

    fn judged(ahead_micros: i64, uncertain_ms: u64) -> Finding {
        let reading = Reading {
            key: "state.database",
            ahead_micros,
            uncertain: Duration::from_millis(uncertain_ms),
        };
        judge(&[reading]).remove(0)
    }

    #[test]
    fn more_than_a_second_beyond_the_round_trip_is_a_warning() {
        assert_eq!(judged(900_000, 1).health, Health::Ok);
        assert_eq!(judged(-1_400_000, 500).health, Health::Ok);
        let behind = judged(-3_600_000_000, 1);
        assert_eq!(behind.health, Health::Warning);
        assert!(behind.found.contains("3600.0 s behind"), "{}", behind.found);
        assert!(judged(2_000_000, 1).found.contains("2.0 s ahead"));
        assert_eq!(judge(&[])[0].health, Health::Ok);
    }
}
