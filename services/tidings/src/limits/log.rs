//! The rate-limit topic read to its end, or why there is nothing to read.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use tidings_edge::config::Config;
use tidings_edge::rate_limit::{LimitLog, LimitLogError, Limits, Mode, Notice, Notices};

/// The longest that closing the clients is waited for.
const CLOSE: Duration = Duration::from_secs(5);

/// How long workers have to write the snapshot that they are asked for: each does so within half a second of reading.
pub(super) const ANSWER: Duration = Duration::from_secs(5);

/// How often it is looked whether there is anything to begin from.
const LOOK: Duration = Duration::from_millis(50);

/// A client of the log that is at its end.
pub(super) struct Log {
    log: LimitLog,
    pub(super) limits: Limits,
}

/// Why nothing can be told of any account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absent {
    /// Nobody ever used the topic.
    Unused,
    /// Its records were deleted, and nobody has written a snapshot since.
    Emptied,
}

impl Absent {
    /// What is told, and what to do; `asked`: workers were asked for a snapshot.
    pub(super) fn words(self, asked: bool) -> String {
        match (self, asked) {
            (Self::Unused, _) => {
                "the rate-limit topic holds nothing yet: a dispatcher begins it when it starts".into()
            }
            (Self::Emptied, false) => "the records of the rate-limit topic were deleted, and nobody has written a snapshot since (dispatchers do within an hour), so what is in force is not to be seen here; `tidings limits --ask` has a running dispatcher write one now".into(),
            (Self::Emptied, true) => format!(
                "the records of the rate-limit topic were deleted, and no dispatcher has written a snapshot within {ANSWER:?}: none runs that knew what was there; the next one that starts begins anew, with the limits of its configuration"
            ),
        }
    }
}

impl Log {
    /// Waits until the log was read, not longer than `kafka.admin_timeout`. Where it has nothing to begin from,
    /// somebody may write a snapshot within `patience`.
    pub(super) async fn read(
        started: Result<(LimitLog, Limits, Notices), LimitLogError>,
        config: &Config,
        patience: Duration,
    ) -> anyhow::Result<Result<Self, Absent>> {
        let (log, limits, mut notices) = started?;
        let longest = config.kafka.admin_timeout + patience;
        let begun = tokio::time::timeout(longest, begun(&limits, &mut notices, patience)).await;
        let read = Self { log, limits };
        let begun = begun.context(
            "the rate-limit topic could not be read to its end within kafka.admin_timeout",
        )??;
        match begun {
            None => Ok(Ok(read)),
            Some(absent) => {
                read.close().await;
                Ok(Err(absent))
            }
        }
    }

    pub(super) async fn close(self) {
        // The process ends soon anyway.
        let _ = self.log.stop(CLOSE).await;
    }
}

/// Until the log is read to its end, or there is nothing to begin from.
async fn begun(
    limits: &Limits,
    notices: &mut Notices,
    patience: Duration,
) -> anyhow::Result<Option<Absent>> {
    let mut lacking_since = None;
    loop {
        match tokio::time::timeout(LOOK, notices.recv()).await {
            Ok(Notice::Mode(Mode::Live)) => return Ok(None),
            Ok(Notice::Mode(Mode::Stopped(why))) => return Err(why.into()),
            Ok(
                Notice::Mode(Mode::Searching | Mode::Replaying | Mode::Closed(_))
                | Notice::Granted { .. }
                | Notice::Voided { .. }
                | Notice::Declined(_)
                | Notice::Waiting { .. },
            )
            | Err(_) => {}
        }
        match limits.lacks_beginning() {
            None => lacking_since = None,
            Some(0) => return Ok(Some(Absent::Unused)),
            Some(_) => {
                let since = *lacking_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= patience {
                    return Ok(Some(Absent::Emptied));
                }
            }
        }
    }
}
