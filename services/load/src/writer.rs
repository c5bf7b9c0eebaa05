//! One worker's way of committing a transaction, through whatever happens to its connection.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::{Duration, Instant, sleep};
use uuid::Uuid;

use crate::LoadError;
use crate::connection::Link;
use crate::report::Tally;
use crate::run::Shared;
use crate::session::{Lost, Written};
use crate::work::Work;

const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// One connection, and what was done over it.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    link: Link,
    pub(crate) tally: Tally,
}

impl Writer {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            link: Link::new(&shared.options),
            shared,
            tally: Tally::default(),
        }
    }

    /// Commits `work`, as often as it takes.
    pub(crate) async fn commit(&mut self, work: &Work<'_>) -> Result<(), LoadError> {
        loop {
            let written = self.write(work).await?;
            if self.finish(work, written).await? {
                return Ok(());
            }
        }
    }

    /// Writes `work` and leaves its transaction open.
    pub(crate) async fn write(&mut self, work: &Work<'_>) -> Result<Written, LoadError> {
        self.shared.pace.wait(work.events.len()).await;
        loop {
            let number = self.shared.next_transaction.fetch_add(1, Ordering::Relaxed);
            let mut ids = Vec::new();
            let session = self.link.session().await?;
            let written = session.write(&self.shared.options, work, number, &mut ids);
            match written.await {
                Ok(xid) => return Ok(Written { number, xid, ids }),
                Err(lost) => self.link.lost("write an order", lost)?,
            }
            // Nobody sent a commit, so the server can only have rolled back.
            self.note_rolled_back(work, &ids).await?;
        }
    }

    /// Commits what was written. `false` if it was rolled back by a failure.
    pub(crate) async fn finish(
        &mut self,
        work: &Work<'_>,
        written: Written,
    ) -> Result<bool, LoadError> {
        if let Err(lost) = self.end("commit").await {
            self.link.lost("commit an order", lost)?;
            self.await_end(&written.xid).await?;
            if !self.is_in_ledger(written.number).await? {
                self.tally.commits_repeated += 1;
                self.note_rolled_back(work, &written.ids).await?;
                return Ok(false);
            }
            self.tally.commits_found += 1;
        }
        self.note_commit(written.number).await?;
        self.tally.committed_transactions += 1;
        self.tally.committed_events += work.events.len() as u64;
        let bad = work.events.iter().filter(|event| event.bad).count();
        self.tally.bad_events += bad as u64;
        Ok(true)
    }

    /// Writes `work` and rolls it back: its messages must never be seen.
    pub(crate) async fn roll_back(&mut self, work: &Work<'_>) -> Result<(), LoadError> {
        let written = self.write(work).await?;
        if let Err(lost) = self.end("rollback").await {
            self.link.lost("roll an order back", lost)?;
        }
        self.tally.rolled_back += 1;
        self.note_rolled_back(work, &written.ids).await
    }

    /// Ends the open transaction with `sql`, on the connection that began it.
    async fn end(&self, sql: &str) -> Result<(), Lost> {
        match self.link.same_session() {
            Some(session) => session.batch(sql).await,
            None => Err(None),
        }
    }

    /// Adds the losses of the connection, and gives the numbers away.
    pub(crate) fn into_tally(self) -> Tally {
        Tally {
            reconnects: self.link.losses,
            ..self.tally
        }
    }

    /// Waits until the server has decided about a transaction whose connection was lost: a backend
    /// can outlive its client, and commit later.
    async fn await_end(&mut self, xid: &str) -> Result<(), LoadError> {
        let start = Instant::now();
        loop {
            match self.link.session().await?.is_in_progress(xid).await {
                Ok(false) => return Ok(()),
                Ok(true) => sleep(LOOK_AGAIN_AFTER).await,
                Err(lost) => self.link.lost("ask for the end of a transaction", lost)?,
            }
            let after = start.elapsed();
            if after > self.shared.options.reconnect_deadline {
                let xid = xid.to_owned();
                return Err(LoadError::Undecided { xid, after });
            }
        }
    }

    async fn is_in_ledger(&mut self, number: i64) -> Result<bool, LoadError> {
        loop {
            let session = self.link.session().await?;
            match session.is_in_ledger(&self.shared.options.run, number).await {
                Ok(found) => return Ok(found),
                Err(lost) => self.link.lost("read the ledger", lost)?,
            }
        }
    }

    async fn note_commit(&mut self, number: i64) -> Result<(), LoadError> {
        loop {
            let session = self.link.session().await?;
            match session.note_commit(&self.shared.options.run, number).await {
                Ok(()) => return Ok(()),
                Err(lost) => self.link.lost("note a commit", lost)?,
            }
        }
    }

    async fn note_rolled_back(&mut self, work: &Work<'_>, ids: &[Uuid]) -> Result<(), LoadError> {
        while !ids.is_empty() {
            let session = self.link.session().await?;
            let noted = session.note_rolled_back(&self.shared.options, work, ids);
            match noted.await {
                Ok(()) => break,
                Err(lost) => self.link.lost("note a rollback", lost)?,
            }
        }
        Ok(())
    }
}
