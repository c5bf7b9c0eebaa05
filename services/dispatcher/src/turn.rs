//! The last look at a permit, at the moment of sending.

use std::time::{Duration, Instant};

use tidings_delivery::PermitId;
use tidings_edge::rate_limit::{Limits, Start};

/// The pause between two looks while a grant is awaited: a twentieth of what a grant is good for.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// The longest that a call waits for a permit that begins a moment later.
const EARLY_WAIT: Duration = Duration::from_millis(5);

/// The permit is void: nothing may go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotItsTurn;

/// A call's permit until it is used. One that is dropped unused is given back, so that the limit does not hold it.
pub(crate) struct Turn<'a> {
    limits: &'a Limits,
    permit: Option<PermitId>,
}

impl<'a> Turn<'a> {
    /// `None` needs no permit.
    pub(crate) fn new(limits: &'a Limits, permit: Option<PermitId>) -> Self {
        Self { limits, permit }
    }

    /// Uses the permit up; the call must start now. One that is void is waited for again for `patience`. Returns the
    /// moment by which the request must leave, if there is one.
    pub(crate) async fn take(mut self, patience: Duration) -> Result<Option<Instant>, NotItsTurn> {
        let began = Instant::now();
        let Some(permit) = self.permit else {
            return Ok(None);
        };
        loop {
            match self.limits.start(permit) {
                Start::Go { until } => {
                    self.permit = None;
                    return Ok(Some(until));
                }
                Start::Early if began.elapsed() >= patience.max(EARLY_WAIT) => {
                    return Err(NotItsTurn);
                }
                Start::Void(_) | Start::Unknown if began.elapsed() >= patience => {
                    return Err(NotItsTurn);
                }
                Start::Early | Start::Void(_) | Start::Unknown => {}
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(permit) = self.permit {
            self.limits.cancel(permit);
        }
    }
}
