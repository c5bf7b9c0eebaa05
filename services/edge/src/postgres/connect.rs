//! Connections, each with bounds on how long a dead server can go unnoticed.

use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime, Timeouts};
use native_tls::{Certificate, TlsConnector};
use postgres_native_tls::MakeTlsConnector;
use tokio::task::JoinHandle;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config};

use super::PostgresError;
use crate::config::{DatabaseConfig, DatabaseUrl};

/// The longest a connection may take to be made, unless the URL says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long sent bytes may stay unacknowledged before the session counts as dead. Below the lease's default, so
/// that a worker cut off from its database notices before others take its claims.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(15);
/// Keepalives find a dead server within idle + 3 × interval = 30 s while nothing is sent.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// The longest a caller waits for a free connection of the pool.
const POOL_WAIT: Duration = Duration::from_secs(5);

/// Opens a session of its own, for advisory locks and long work. The task ends when the session does, however
/// that happens; aborting it closes the session.
///
/// # Errors
/// The URL or the certificate authority cannot be used, or there is no session within the connect timeout.
pub async fn connect(
    database: &DatabaseConfig,
    application_name: &str,
) -> Result<(Client, JoinHandle<()>), PostgresError> {
    let config = session_config(&database.database, application_name)?;
    let tls = tls(database, config.get_ssl_mode())?;
    let opened = config.connect(tls).await;
    let (client, connection) = opened.map_err(PostgresError::Connect)?;
    let session = tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::warn!(%error, "a database session ended");
        }
    });
    Ok((client, session))
}

/// A pool of at most `max_size` connections, which are opened when first needed. A caller waits at most 5 s for
/// a free one.
///
/// # Errors
/// The URL or the certificate authority cannot be used.
pub fn pool(
    database: &DatabaseConfig,
    application_name: &str,
    max_size: usize,
) -> Result<Pool, PostgresError> {
    let config = session_config(&database.database, application_name)?;
    let tls = tls(database, config.get_ssl_mode())?;
    // Fast: a broken connection is found by its next statement, without a round trip before each.
    let recycling = ManagerConfig {
        recycling_method: RecyclingMethod::Fast,
    };
    let pool = Pool::builder(Manager::from_config(config, tls, recycling))
        .max_size(max_size)
        .runtime(Runtime::Tokio1)
        .timeouts(Timeouts {
            wait: Some(POOL_WAIT),
            create: Some(CONNECT_TIMEOUT + Duration::from_secs(1)),
            recycle: Some(POOL_WAIT),
        })
        .build()?;
    Ok(pool)
}

/// Whether a URL can be used by [`connect`] and [`pool`].
pub fn is_connection_url(url: &DatabaseUrl) -> bool {
    session_config(url, "tidings").is_ok()
}

fn session_config(url: &DatabaseUrl, application_name: &str) -> Result<Config, PostgresError> {
    // The parser's error may quote the URL, so it is dropped.
    let mut config: Config = url.expose().parse().map_err(|_| PostgresError::Url)?;
    if config.get_hosts().is_empty() {
        return Err(PostgresError::Url);
    }
    if config.get_application_name().is_none() {
        config.application_name(application_name);
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    config
        .tcp_user_timeout(TCP_USER_TIMEOUT)
        .keepalives(true)
        .keepalives_idle(KEEPALIVE_IDLE)
        .keepalives_interval(KEEPALIVE_INTERVAL)
        .keepalives_retries(3);
    Ok(config)
}

/// With `sslmode=require` the server's certificate and name are verified; with `prefer`, the default, the
/// connection is encrypted if the server can, with any certificate, as libpq does.
fn tls(database: &DatabaseConfig, mode: SslMode) -> Result<MakeTlsConnector, PostgresError> {
    let mut builder = TlsConnector::builder();
    if mode != SslMode::Require {
        builder
            .danger_accept_invalid_certs(true)
            .danger_accept_invalid_hostnames(true);
    }
    if let Some(path) = &database.ca_file {
        let unusable =
            |source: Box<dyn std::error::Error + Send + Sync>| PostgresError::Authority {
                path: path.clone(),
                source,
            };
        let pem = std::fs::read(path).map_err(|error| unusable(error.into()))?;
        let authority = Certificate::from_pem(&pem).map_err(|error| unusable(error.into()))?;
        builder.add_root_certificate(authority);
    }
    let connector = builder.build().map_err(PostgresError::Tls)?;
    Ok(MakeTlsConnector::new(connector))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_host_or_of_another_scheme_is_refused_without_being_quoted() {
        for url in ["mysql://root:canary@h/db", "postgres://", "canary"] {
            let error = session_config(&DatabaseUrl::new(url), "tidings").unwrap_err();
            assert!(!format!("{error} {error:?}").contains("canary"));
        }
    }

    #[test]
    fn the_url_wins_over_our_defaults_of_name_and_timeout() {
        let url = DatabaseUrl::new("postgres://u@h/db?application_name=shop&connect_timeout=2");
        let config = session_config(&url, "tidings-relay").unwrap();
        assert_eq!(config.get_application_name(), Some("shop"));
        assert_eq!(config.get_connect_timeout(), Some(&Duration::from_secs(2)));
        assert_eq!(config.get_tcp_user_timeout(), Some(&TCP_USER_TIMEOUT));
    }
}
