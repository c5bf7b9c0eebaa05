//! Where the parts are reached.

use std::fmt;
use std::net::SocketAddr;

/// Where the parts of a stack are reached. `Debug` hides user names and passwords.
#[derive(Clone, PartialEq, Eq)]
pub struct Addresses {
    /// The connection string of the default database, `tidings` for a server of our own.
    pub postgres_url: String,
    /// Kafka's bootstrap servers: `host:port`, separated by commas.
    pub kafka_brokers: String,
    /// The registry's Confluent-compatible API, without a slash at the end.
    pub registry_url: String,
    /// Jaeger's query API and pages, without a slash at the end, if the stack has it.
    pub jaeger_query_url: Option<String>,
    /// Where Jaeger takes spans by OTLP over HTTP: the value of `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub otlp_url: Option<String>,
}

impl fmt::Debug for Addresses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Addresses")
            .field("postgres_url", &hide_secrets(&self.postgres_url))
            .field("kafka_brokers", &self.kafka_brokers)
            .field("registry_url", &hide_secrets(&self.registry_url))
            .field("jaeger_query_url", &self.jaeger_query_url)
            .field("otlp_url", &self.otlp_url)
            .finish()
    }
}

/// A second way to Kafka, over a proxy. A broker tells its clients where it is, and would lead those of a proxy around it;
/// the clients that come this way are told the proxy's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detour {
    /// Where the proxy has to listen, and the bootstrap server of its clients. Nothing listens there by itself.
    pub proxy: SocketAddr,
    /// Where it forwards to.
    pub broker: SocketAddr,
}

/// What of a connection string may be shown: without user and password, nothing at all if a password may be inside it.
pub(crate) fn hide_secrets(url: &str) -> String {
    if url.to_ascii_lowercase().contains("password") {
        return "(hidden)".to_owned();
    }
    match url.rsplit_once('@') {
        Some((_, host_and_path)) => format!("…@{host_and_path}"),
        None => url.to_owned(),
    }
}

/// The connection string `url` with another database. Both forms that PostgreSQL knows are understood: an URL, and
/// `key=value` pairs, where the last `dbname` counts.
pub(crate) fn with_database(url: &str, database: &str) -> String {
    let Some(after_scheme) = url.find("://").map(|at| at + 3) else {
        return format!("{url} dbname={database}");
    };
    let (base, parameters) = match url.split_once('?') {
        Some((base, parameters)) => (base, format!("?{parameters}")),
        None => (url, String::new()),
    };
    let authority_end = base[after_scheme..]
        .find('/')
        .map_or(base.len(), |at| after_scheme + at);
    format!("{}/{database}{parameters}", &base[..authority_end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_replaced_in_every_form() {
        for (url, expected) in [
            ("postgresql://u:p@h:5432/a", "postgresql://u:p@h:5432/b"),
            ("postgres://h", "postgres://h/b"),
            (
                "postgresql://h/a?sslmode=require",
                "postgresql://h/b?sslmode=require",
            ),
            (
                "postgresql://h?sslmode=require",
                "postgresql://h/b?sslmode=require",
            ),
            ("host=h dbname=a", "host=h dbname=a dbname=b"),
        ] {
            assert_eq!(with_database(url, "b"), expected);
            assert!(
                with_database(url, "b")
                    .parse::<tokio_postgres::Config>()
                    .is_ok_and(|c| c.get_dbname() == Some("b"))
            );
        }
    }

    #[test]
    fn no_password_is_shown() {
        for url in [
            "postgresql://u:s3cret@h/a",
            "host=h password=s3cret",
            "http://u:s3@cret@h/",
            "postgres://h?Password=s3cret",
        ] {
            let addresses = Addresses {
                postgres_url: url.to_owned(),
                kafka_brokers: "h:9092".to_owned(),
                registry_url: url.to_owned(),
                jaeger_query_url: None,
                otlp_url: None,
            };
            let shown = format!("{addresses:?}");
            assert!(!shown.contains("s3"), "{shown}");
        }
    }
}
