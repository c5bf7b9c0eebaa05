//! What happens while it is measured. Each returns the stretches in which workers or the broker were away, or an account was
//! held: they are left out of what is used.

use std::time::Duration;

use serde_json::json;
use tidings_stack::Part;
use tokio::time::{Instant, sleep, sleep_until};

use super::feed::alias;
use super::options::Chaos;
use super::rig::Rig;
use super::spans::{SECOND, Span, now};

/// Seconds of the 429s that are answered for a moment.
pub(super) const RETRY_AFTER_SECONDS: i64 = 7;

/// Seconds of the one that outlives all workers.
const LONG_RETRY_AFTER_SECONDS: i64 = 3_600;

const BETWEEN_KILLS: Duration = Duration::from_secs(3);
const AWAY: Duration = Duration::from_millis(300);
const BROKER_AWAY: Duration = Duration::from_secs(20);
const TOPIC_AWAY: Duration = Duration::from_secs(2);

/// How long workers may take to find an end of what kept them.
const RECOVERY: i64 = 10 * SECOND;

/// How long after a restart what was held in the dead workers' hands may be missing from what is used.
const SETTLING: i64 = SECOND;

/// How long the long penalty is known before the restart.
const KNOWN: Duration = Duration::from_secs(3);

/// Lets `chaos` happen within `seconds`.
pub(super) async fn strike(
    chaos: Chaos,
    rig: &mut Rig<'_>,
    seconds: u64,
) -> anyhow::Result<Vec<Span>> {
    let ends = Instant::now() + Duration::from_secs(seconds);
    let third = Duration::from_secs(seconds) / 3;
    match chaos {
        Chaos::Clock => Ok(Vec::new()),
        Chaos::Kill => kill_in_turn(rig, ends).await,
        Chaos::RestartAll => {
            sleep(third).await;
            let first = restart_all(rig).await?;
            sleep_until(ends - third).await;
            Ok(vec![first, restart_all(rig).await?])
        }
        Chaos::Penalty => {
            sleep(third).await;
            throttle(rig, RETRY_AFTER_SECONDS, "chat")?;
            Ok(Vec::new())
        }
        Chaos::AccountPenalty => {
            sleep(third).await;
            throttle(rig, RETRY_AFTER_SECONDS, "account")?;
            Ok(vec![from_now((RETRY_AFTER_SECONDS + 2) * SECOND)])
        }
        Chaos::LongPenalty => {
            sleep(third).await;
            throttle(rig, LONG_RETRY_AFTER_SECONDS, "account")?;
            let held = from_now(LONG_RETRY_AFTER_SECONDS * SECOND);
            sleep(KNOWN).await;
            restart_all(rig).await?;
            Ok(vec![held])
        }
        Chaos::Truncate => {
            sleep(third).await;
            rig.topic.empty().await?;
            Ok(vec![from_now(RECOVERY)])
        }
        Chaos::Delete => {
            sleep(third).await;
            let from = now();
            rig.topic.delete().await?;
            sleep(TOPIC_AWAY).await;
            rig.topic.recreate().await?;
            Ok(vec![Span {
                from,
                ..from_now(RECOVERY)
            }])
        }
        Chaos::Broker => {
            sleep(third).await;
            let from = now();
            rig.stack.stop_part(Part::Kafka).await?;
            sleep(BROKER_AWAY).await;
            rig.stack.start_part(Part::Kafka).await?;
            Ok(vec![Span {
                from,
                ..from_now(RECOVERY)
            }])
        }
    }
}

/// One worker after the other, each back and ready before the next.
async fn kill_in_turn(rig: &mut Rig<'_>, ends: Instant) -> anyhow::Result<Vec<Span>> {
    let (mut away, mut turn) = (Vec::new(), 0);
    loop {
        sleep(BETWEEN_KILLS).await;
        if Instant::now() + BETWEEN_KILLS > ends {
            return Ok(away);
        }
        let (from, index) = (now(), turn % rig.workers.len());
        let worker = &mut rig.workers[index];
        worker.kill()?;
        sleep(AWAY).await;
        worker.start().await?;
        rig.ready().await?;
        away.push(Span {
            from,
            to: now() + SETTLING,
        });
        turn += 1;
    }
}

async fn restart_all(rig: &mut Rig<'_>) -> anyhow::Result<Span> {
    let from = now();
    for worker in &mut rig.workers {
        worker.kill()?;
    }
    for worker in &mut rig.workers {
        worker.start().await?;
    }
    rig.ready().await?;
    // A group learns of its dead members by their silence alone.
    Ok(Span {
        from,
        ..from_now(RECOVERY)
    })
}

/// The next call of the first account is answered 429.
fn throttle(rig: &Rig<'_>, retry_after: i64, scope: &str) -> anyhow::Result<()> {
    let script = json!({"rules": [{
        "name": "penalty", "match": {"account": alias(0), "times": 1},
        "action": {"answer": {"throttle": {"retry_after": retry_after, "scope": scope}}},
    }]});
    rig.deployment
        .simulator()
        .set_script(serde_json::from_value(script)?)?;
    Ok(())
}

fn from_now(micros: i64) -> Span {
    let from = now();
    Span {
        from,
        to: from + micros,
    }
}
