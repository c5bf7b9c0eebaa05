//! A connection to the upstream database that comes back after it was lost.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Config, NoTls};

use crate::session::{Lost, Session};
use crate::{LoadError, LoadOptions};

const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// At most one open connection.
pub(crate) struct Link {
    url: String,
    lock_chat: bool,
    answer_deadline: Duration,
    reconnect_deadline: Duration,
    session: Option<Session>,
    /// Times that the connection was lost.
    pub(crate) losses: u64,
}

impl Link {
    pub(crate) fn new(options: &LoadOptions) -> Self {
        Self {
            url: options.database_url.clone(),
            lock_chat: options.lock_chat,
            answer_deadline: options.answer_deadline,
            reconnect_deadline: options.reconnect_deadline,
            session: None,
            losses: 0,
        }
    }

    /// The open connection, or a new one.
    ///
    /// # Errors
    /// When none could be had until the deadline, or the server refuses it for good.
    pub(crate) async fn session(&mut self) -> Result<&Session, LoadError> {
        let session = match self.session.take() {
            Some(session) if !session.is_closed() => session,
            // It ended between two statements.
            Some(_) => {
                self.losses += 1;
                self.reconnect().await?
            }
            None => self.reconnect().await?,
        };
        Ok(self.session.insert(session))
    }

    /// The connection as it is, and no new one: whatever ends a transaction must go where it began. On a fresh connection
    /// Postgres answers `commit` with success, and nothing is committed.
    pub(crate) fn same_session(&self) -> Option<&Session> {
        self.session.as_ref().filter(|session| !session.is_closed())
    }

    /// Gives the connection up after a statement failed.
    ///
    /// # Errors
    /// When the failure is not about the connection, so that another one would not help.
    pub(crate) fn lost(&mut self, what: &'static str, lost: Lost) -> Result<(), LoadError> {
        self.session = None;
        self.losses += 1;
        match lost {
            Some(source) if !is_passing(&source) => Err(refused(what, source)),
            Some(_) | None => {
                tracing::warn!(what, "lost the connection to the upstream database");
                Ok(())
            }
        }
    }

    async fn reconnect(&self) -> Result<Session, LoadError> {
        let start = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let source = match timeout(CONNECT_DEADLINE, self.connect()).await {
                Ok(Ok(session)) => return Ok(session),
                Ok(Err(source)) if !is_passing(&source) => return Err(refused("connect", source)),
                Ok(Err(source)) => Some(source),
                Err(_) => None,
            };
            let after = start.elapsed();
            if after >= self.reconnect_deadline {
                return Err(LoadError::Unreachable { after, source });
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn connect(&self) -> Result<Session, tokio_postgres::Error> {
        let mut config: Config = self.url.parse()?;
        if config.get_application_name().is_none() {
            config.application_name("tidings-load");
        }
        let (client, connection) = config.connect(NoTls).await?;
        // A failure of the connection reaches the client as the failure of its statement.
        tokio::spawn(connection);
        let lock = if self.lock_chat { "on" } else { "off" };
        client
            .batch_execute(&format!("set tidings.lock_chat = {lock}"))
            .await?;
        Ok(Session::new(client, self.answer_deadline))
    }
}

/// Whether another try on another connection may succeed.
fn is_passing(error: &tokio_postgres::Error) -> bool {
    let Some(state) = error.code() else {
        return !is_about_the_caller(error);
    };
    let class = state.code().get(..2).unwrap_or_default();
    // 08 connection, 40 rolled back by the server, 53 resources; then restart and shutdown.
    matches!(class, "08" | "40" | "53")
        || *state == SqlState::ADMIN_SHUTDOWN
        || *state == SqlState::CRASH_SHUTDOWN
        || *state == SqlState::CANNOT_CONNECT_NOW
        || *state == SqlState::IDLE_SESSION_TIMEOUT
}

/// Errors of the client that no reconnect mends, such as a bad URL. Those of the socket, of a closed
/// connection and of a timeout carry an I/O error or nothing.
fn is_about_the_caller(error: &tokio_postgres::Error) -> bool {
    let source = std::error::Error::source(error);
    source.is_some_and(|source| !source.is::<std::io::Error>())
}

fn refused(what: &'static str, source: tokio_postgres::Error) -> LoadError {
    let missing = [SqlState::UNDEFINED_FUNCTION, SqlState::INVALID_SCHEMA_NAME];
    match source.code() {
        Some(state) if missing.contains(state) => LoadError::NoOutbox(source),
        Some(_) | None => LoadError::Refused { what, source },
    }
}
