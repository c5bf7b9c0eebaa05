//! Why a simulator does not start or stop.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use crate::limits::LimitsError;
use crate::log::LogFileError;
use crate::script::ScriptError;

/// A failure of a simulator as a whole.
#[derive(Debug, Error)]
pub enum SimulatorError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}; free it, or choose another (port 0 takes a free one)")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The log's file cannot be used.
    #[error("cannot use the log file")]
    LogFile(#[from] LogFileError),
    /// The first script is not valid.
    #[error("the script is not valid")]
    Script(#[from] ScriptError),
    /// An account's limits are not valid.
    #[error("the limits are not valid")]
    Limits(#[from] LimitsError),
    /// The server ended by itself.
    #[error("the server failed")]
    Serve(#[source] io::Error),
    /// The server did not stop inside its deadline; connections that would not end were abandoned.
    #[error("the server did not stop in time; its connections were abandoned")]
    StopTimeout,
}
