use std::io;
use std::path::PathBuf;

use tidings_edge::config::ConfigError;
use tidings_edge::kafka::TopicsError;
use tidings_edge::postgres::PostgresError;
use tidings_simulator::SimulatorError;
use tidings_stack::StackError;

/// Why a deployment does not come up or can not be controlled.
#[derive(Debug, thiserror::Error)]
pub enum DrillError {
    /// The servers.
    #[error("the local stack")]
    Stack(#[from] StackError),
    /// The simulator.
    #[error("the platforms' simulator")]
    Simulator(#[from] SimulatorError),
    /// A database could not be prepared.
    #[error("a database could not be prepared")]
    Database(#[from] PostgresError),
    /// The topics could not be made.
    #[error("the topics could not be made")]
    Topics(#[from] TopicsError),
    /// The configuration that was written for the roles is refused.
    #[error("the roles' configuration is refused")]
    Config(#[from] ConfigError),
    /// The cluster did not do what a drill asked it for.
    #[error("Kafka: could not {doing}")]
    Kafka {
        /// What was being done.
        doing: &'static str,
        /// The client's words.
        #[source]
        source: rdkafka::error::KafkaError,
    },
    /// A file or a process.
    #[error("{doing}")]
    System {
        /// What was being done.
        doing: String,
        /// The system's words.
        #[source]
        source: io::Error,
    },
    /// A role ended or did not get ready in time.
    #[error("{role} {problem}; its log is {}, which ends:\n{tail}", log.display())]
    Role {
        /// Which one.
        role: String,
        /// What is wrong.
        problem: String,
        /// Its log.
        log: PathBuf,
        /// The log's end.
        tail: String,
    },
}

impl DrillError {
    pub(crate) fn system(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::System { doing, source }
    }
}
