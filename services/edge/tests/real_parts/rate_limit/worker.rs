use std::collections::HashSet;
use std::time::{Duration, Instant};

use tidings_edge::config::Config;
use tidings_edge::postgres;
use tidings_edge::rate_limit::{
    Class, LimitLog, Limits, Mode, Notice, Notices, PermitId, Start, Want,
};

use super::SCOPE;

/// Longer than anything here takes; what does not come by then never comes.
const PATIENCE: Duration = Duration::from_secs(90);

/// A client with somebody who wants permits and starts at once what is granted.
pub(super) struct Worker {
    pub(super) log: LimitLog,
    pub(super) limits: Limits,
    notices: Notices,
    next: u64,
    wanted: HashSet<PermitId>,
    /// When calls started.
    pub(super) started: Vec<Instant>,
    /// The modes so far.
    pub(super) modes: Vec<Mode>,
}

impl Worker {
    pub(super) async fn start(config: &Config) -> Self {
        let pool = postgres::pool(&config.state, "edge-test", 2).unwrap();
        let (log, limits, notices) = LimitLog::start(config, Some(pool)).await.unwrap();
        Self {
            log,
            limits,
            notices,
            next: 0,
            wanted: HashSet::new(),
            started: Vec::new(),
            modes: Vec::new(),
        }
    }

    /// Wants permits for so many messages, each to a chat of its own.
    pub(super) fn want(&mut self, count: u64) {
        let permits = self.next..self.next + count;
        self.next = permits.end;
        self.wanted.extend(permits.clone().map(PermitId));
        self.limits.want_all(permits.map(|permit| Want {
            permit: PermitId(permit),
            scope: SCOPE.into(),
            chat: format!("chat {permit}"),
            class: Class::Normal,
        }));
    }

    /// Goes on until the condition holds.
    pub(super) async fn until(&mut self, mut done: impl FnMut(&Self) -> bool) {
        let all = async {
            while !done(self) {
                // The condition may depend on what is not told.
                if let Ok(notice) =
                    tokio::time::timeout(Duration::from_millis(20), self.notices.recv()).await
                {
                    self.take(notice).await;
                }
            }
        };
        tokio::time::timeout(PATIENCE, all)
            .await
            .expect("it did not come to that");
    }

    pub(super) async fn until_live(&mut self) {
        self.until(|worker| worker.limits.is_live()).await;
    }

    /// Starts everything that is wanted.
    pub(super) async fn finish(&mut self) {
        self.until(|worker| worker.wanted.is_empty()).await;
    }

    /// Wants and starts so many.
    pub(super) async fn send(&mut self, count: u64) {
        self.want(count);
        self.finish().await;
    }

    pub(super) async fn stop(self) {
        assert!(self.log.stop(PATIENCE).await, "a client hangs in its close");
    }

    async fn take(&mut self, notice: Notice) {
        match notice {
            Notice::Granted { permit, from, .. } => {
                tokio::time::sleep_until(from.into()).await;
                if matches!(self.limits.start(permit), Start::Go { .. }) {
                    self.started.push(Instant::now());
                    self.wanted.remove(&permit);
                }
            }
            Notice::Mode(mode) => self.modes.push(mode),
            Notice::Voided { .. } | Notice::Waiting { .. } => {}
            Notice::Declined(permit) => panic!("{permit:?} was declined"),
        }
    }
}

/// The most starts in any second.
pub(super) fn most_in_a_second(workers: &[&Worker]) -> usize {
    let mut all: Vec<Instant> = workers
        .iter()
        .flat_map(|worker| worker.started.clone())
        .collect();
    all.sort();
    let window = |first: &Instant| {
        let end = *first + Duration::from_secs(1);
        all.iter().filter(|at| *at >= first && **at < end).count()
    };
    all.iter().map(window).max().unwrap_or(0)
}
