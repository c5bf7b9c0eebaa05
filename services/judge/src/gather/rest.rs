//! Waiting until nothing is outstanding, or nothing moves (design §7, "after quiescence").

use std::time::Duration;

use tokio::time::Instant;

use crate::evidence::Rest;

use super::kafka::Kafka;
use super::state::ClaimCounts;
use super::{GatherError, Inputs, Wait, state, upstream};

/// Time between two looks; each is a handful of counts.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Counts that change whenever anything moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    outbox: i64,
    /// `None` when no brokers were named.
    lag: Option<u64>,
    claims: ClaimCounts,
}

impl Look {
    /// Whether nothing can be outstanding. Without Kafka nobody knows what lies in the lanes.
    fn is_at_rest(self) -> bool {
        let ClaimCounts { open, deferred, .. } = self.claims;
        self.outbox == 0 && self.lag == Some(0) && open == 0 && deferred == 0
    }
}

pub(super) async fn wait(
    inputs: &Inputs,
    kafka: Option<&Kafka>,
    wait: &Wait,
) -> Result<Rest, GatherError> {
    let start = Instant::now();
    let mut last_move = start;
    let mut last: Option<Look> = None;
    loop {
        // A failing look moves nothing: a server may be restarting.
        let look = look(inputs, kafka).await;
        let now = Instant::now();
        match &look {
            Ok(look) if look.is_at_rest() => return Ok(Rest::Reached),
            Ok(look) if last != Some(*look) => {
                last = Some(*look);
                last_move = now;
            }
            Ok(_) | Err(_) => {}
        }
        let stalled = now.duration_since(last_move) >= wait.quiet;
        let over = now.duration_since(start) >= wait.longest;
        if stalled || over {
            look?;
            return Ok(if stalled {
                Rest::Stalled
            } else {
                Rest::StillMoving
            });
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Looks in the direction of flow, so that nothing slips from a place not yet seen to one seen.
async fn look(inputs: &Inputs, kafka: Option<&Kafka>) -> Result<Look, GatherError> {
    let outbox = upstream::count_outbox(&inputs.upstream_url).await?;
    let lag = match kafka {
        Some(kafka) => Some(kafka.lag().await?),
        None => None,
    };
    let claims = state::count(&inputs.state_url).await?;
    Ok(Look {
        outbox,
        lag,
        claims,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_needs_empty_outbox_lanes_and_claims() {
        let rest = Look {
            outbox: 0,
            lag: Some(0),
            claims: ClaimCounts {
                open: 0,
                all: 9,
                deferred: 0,
            },
        };
        assert!(rest.is_at_rest());
        assert!(!Look { outbox: 1, ..rest }.is_at_rest());
        assert!(
            !Look {
                lag: Some(1),
                ..rest
            }
            .is_at_rest()
        );
        assert!(!Look { lag: None, ..rest }.is_at_rest());
        let claims = ClaimCounts {
            open: 1,
            ..rest.claims
        };
        assert!(!Look { claims, ..rest }.is_at_rest());
        let claims = ClaimCounts {
            deferred: 1,
            ..rest.claims
        };
        assert!(!Look { claims, ..rest }.is_at_rest());
    }
}
