//! The client of the rate-limit topic (design §9): drives a [`Limiter`](tidings_ratelimit::Limiter) on the real log.
//!
//! The limiter lies behind one lock. A thread reads the log, a thread keeps the limiter's time, callers ask through
//! [`Limits`]; whoever holds the lock hands one event over and performs what the limiter wants done, appends included.
//! So an append leaves within the call that causes it, and [`Limits::start`] answers at the moment of sending.
//!
//! ```text
//! engine ── Limits ──┐                         ┌─► append (producer) ──► tidings.rate-limit
//! timer thread ──────┼─► Mutex<limiter> ───────┼─► Notices ──► engine
//! reader thread ─────┘   (microseconds)        └─► keeper task ──► tidings_delivery.penalties
//!      ▲ tidings.rate-limit, one partition, assigned by hand
//! ```
//!
//! What fails closes: a topic that is missing, unfit, deleted or cut short is opened again with pauses that double, and
//! nothing is granted meanwhile. Reading order: `limits`, `notices`, `shared`, `driver`, `reader`, `keeper`.

mod appender;
mod backoff;
mod clients;
mod closer;
mod driver;
mod keeper;
mod limits;
mod notices;
mod penalties;
mod proposal;
mod reader;
mod shared;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use deadpool_postgres::Pool;
use tidings_ratelimit::{Event, Limiter, Options};
use tokio::sync::mpsc;
use uuid::Uuid;

pub use limits::{Limits, Operated, Start, Want};
pub use notices::{Notice, Notices};
pub use penalties::PenaltyStore;
pub use proposal::ProposalError;
pub use tidings_ratelimit::{
    Class, ClosedWhy, Counts, HoldView, LONG_PENALTY, Limit, LogTime, MAX_NAME_BYTES,
    MAX_OPERATOR_BYTES, MAX_REASON_BYTES, Mode, Operation, PermitId, RefusedWhy, Rule, ScopeLimits,
    ScopeView, SourcePreset, StoppedWhy, Target, View, VoidWhy, WaiterView,
};

use crate::config::Config;
use crate::kafka::{self, TopicProblem, TopicsError};
use keeper::KeeperCommand;
use reader::ReaderOptions;
use shared::Shared;

/// Longer than a command lives.
const NEVER: Duration = Duration::from_secs(86_400);

/// Why the client could not start.
#[derive(Debug, thiserror::Error)]
pub enum LimitLogError {
    /// The topic is missing or is not as it must be.
    #[error("the rate-limit topic does not fit: {}", list(.0))]
    Unfit(Vec<TopicProblem>),
    /// The cluster could not be asked.
    #[error("the rate-limit topic could not be looked at")]
    Topic(#[source] TopicsError),
    /// An account's limits cannot be in force.
    #[error("accounts.\"{account}\".limits")]
    Limits {
        /// The account.
        account: String,
        /// Why.
        #[source]
        source: ProposalError,
    },
    /// A thread could not be started.
    #[error("a thread of the rate-limit client could not be started")]
    Thread(#[source] std::io::Error),
}

/// A running client of the rate-limit topic. Dropping it asks its threads to end, and does not wait for them.
pub struct LimitLog {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    keeper: Option<tokio::task::JoinHandle<()>>,
}

impl LimitLog {
    /// Checks the topic and starts. Does not wait until the log is read: [`Notice::Mode`] tells. Every configured
    /// account is named to the limiter with the limits that the configuration proposes for it. Without a pool of the
    /// state database long penalties are kept in the log only.
    ///
    /// # Errors
    /// The topic does not fit, the cluster cannot be asked, or an account's limits cannot be in force.
    pub async fn start(
        config: &Config,
        pool: Option<Pool>,
    ) -> Result<(Self, Limits, Notices), LimitLogError> {
        check_topic(config).await?;
        let scopes = proposals(config)?;
        let log = Self::spawn(config, pool.map(PenaltyStore::new), limiter(), true)?;
        for (scope, limits) in scopes {
            log.shared.tell(Event::Scope { scope, limits });
        }
        Ok(log.with_handles())
    }

    /// The same for a look at the log: nothing is appended, and no scope is named.
    ///
    /// # Errors
    /// The topic does not fit, or the cluster cannot be asked.
    pub async fn look(config: &Config) -> Result<(Self, Limits, Notices), LimitLogError> {
        check_topic(config).await?;
        Ok(Self::spawn(config, None, visitor(), false)?.with_handles())
    }

    /// The same for an operator: what is operated is appended, and no scope is named. When the log has nothing to begin
    /// from, workers that run are asked for a snapshot ([`Limits::lacks_beginning`]); no log is begun, because an operator
    /// in a hurry must not replace the one that a slow worker still knows.
    ///
    /// # Errors
    /// The topic does not fit, or the cluster cannot be asked.
    pub async fn operate(
        config: &Config,
        pool: Option<Pool>,
    ) -> Result<(Self, Limits, Notices), LimitLogError> {
        check_topic(config).await?;
        let store = pool.map(PenaltyStore::new);
        Ok(Self::spawn(config, store, visitor(), true)?.with_handles())
    }

    fn spawn(
        config: &Config,
        store: Option<PenaltyStore>,
        limiter: Limiter,
        appends: bool,
    ) -> Result<Self, LimitLogError> {
        let (commands, to_keep) =
            mpsc::channel::<KeeperCommand>(config.limits.max_pending_penalties);
        let sender = store.is_some().then_some(commands);
        let shared = Arc::new(Shared::new(limiter, sender, appends));
        let keeper = store.map(|store| {
            let shared = Arc::downgrade(&shared);
            tokio::spawn(keeper::run(store, to_keep, shared, config.limits.clone()))
        });
        let mut log = Self {
            shared,
            threads: Vec::new(),
            keeper,
        };
        let options = reader_options(config);
        log.start_thread("rate-limit-time", |shared| shared.keep_time())?;
        log.start_thread("rate-limit-log", move |shared| {
            reader::run(shared, &options)
        })?;
        Ok(log)
    }

    fn start_thread(
        &mut self,
        name: &str,
        run: impl FnOnce(&Arc<Shared>) + Send + 'static,
    ) -> Result<(), LimitLogError> {
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || run(&shared));
        self.threads.push(thread.map_err(LimitLogError::Thread)?);
        Ok(())
    }

    fn with_handles(self) -> (Self, Limits, Notices) {
        let limits = Limits::new(Arc::clone(&self.shared));
        let notices = self.shared.tray.receiver();
        (self, limits, notices)
    }

    /// Ends, and waits for it not longer than `deadline`; long penalties that wait to be written are written. False if
    /// a client hangs in its close (rust-rdkafka #509, #453): then the process' end must take it.
    pub async fn stop(mut self, deadline: Duration) -> bool {
        self.shared.close();
        let threads = std::mem::take(&mut self.threads);
        let joined = tokio::task::spawn_blocking(move || {
            threads.into_iter().all(|thread| thread.join().is_ok())
        });
        let keeper = self.keeper.take();
        let ended = async {
            let joined = joined.await.unwrap_or(false);
            match keeper {
                Some(keeper) => keeper.await.is_ok() && joined,
                None => joined,
            }
        };
        tokio::time::timeout(deadline, ended).await.unwrap_or(false)
    }
}

impl Drop for LimitLog {
    fn drop(&mut self) {
        self.shared.close();
        if let Some(keeper) = &self.keeper {
            keeper.abort();
        }
    }
}

/// Every process is a new one to the log, whatever ran here before.
fn options() -> Options {
    let incarnation = Uuid::new_v4();
    let (seed, _) = incarnation.as_u64_pair();
    Options::new(incarnation, seed)
}

fn limiter() -> Limiter {
    Limiter::new(options())
}

/// One that begins no log while its process lives.
fn visitor() -> Limiter {
    Limiter::new(Options {
        begin_after: NEVER,
        ..options()
    })
}

fn reader_options(config: &Config) -> ReaderOptions {
    ReaderOptions {
        topic: kafka::rate_limit_topic(&config.kafka),
        consumer: clients::consumer_config(config),
        producer: clients::producer_config(config),
        limits: config.limits.clone(),
    }
}

/// What the configuration proposes for each account.
fn proposals(config: &Config) -> Result<BTreeMap<String, ScopeLimits>, LimitLogError> {
    let accounts = config.accounts.iter();
    let proposed = accounts.map(|(name, account)| {
        let platform = name
            .split_once(':')
            .map_or(name.as_str(), |(platform, _)| platform);
        let limits = account.limits.clone().unwrap_or_default();
        let limits = limits
            .scope_limits(platform)
            .map_err(|source| LimitLogError::Limits {
                account: name.clone(),
                source,
            })?;
        Ok((name.clone(), limits))
    });
    proposed.collect()
}

/// Without the broker's own time, or with several partitions, the log is no lock (design §9).
async fn check_topic(config: &Config) -> Result<(), LimitLogError> {
    let topic = kafka::rate_limit_topic(&config.kafka);
    let views = kafka::inspect(config).await.map_err(LimitLogError::Topic)?;
    let views = views.iter().filter(|view| view.spec.name == topic);
    let problems: Vec<TopicProblem> = views.flat_map(kafka::TopicView::problems).collect();
    match problems.as_slice() {
        [] => Ok(()),
        [..] => Err(LimitLogError::Unfit(problems)),
    }
}

fn list(problems: &[TopicProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("; ")
}
