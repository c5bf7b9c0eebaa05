use std::net::SocketAddr;

use tidings_edge::config::Config;
use tidings_edge::postgres::pool;
use tidings_edge::registry::{RegistryClient, RegistryError, SchemaCache};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::{config, migrated};

const UNKNOWN_ID: u32 = 2_000_000_000;

/// A subject and a schema that no other test has.
fn schema(config: &Config) -> (String, String) {
    let name = config.kafka.prefix.replace('-', "_");
    let json = format!(
        r#"{{"type":"record", "name":"{name}", "namespace":"edge",
            "fields":[{{"name":"at","doc":"when","type":{{"type":"long","logicalType":"timestamp-micros"}}}},
                      {{"name":"note","type":["null","string"],"default":null}}]}}"#
    );
    (format!("edge.{name}"), json)
}

fn cache(config: &Config) -> SchemaCache {
    let client = RegistryClient::new(&config.registry).unwrap();
    let pool = pool(&config.state, "edge-test", 2).unwrap();
    SchemaCache::new(client, pool, &config.registry)
}

/// A way to the registry that can be cut, at an address that stays the same.
struct Way(JoinHandle<()>);

impl Way {
    async fn open(config: &mut Config) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap();
        let url = reqwest::Url::parse(&config.registry.url).unwrap();
        let registry = url.socket_addrs(|| None).unwrap()[0];
        config.registry.url = format!("http://{here}{}", url.path());
        Self(tokio::spawn(forward(listener, registry)))
    }

    async fn cut(self) {
        self.0.abort();
        assert!(self.0.await.unwrap_err().is_cancelled());
    }
}

async fn forward(listener: TcpListener, registry: SocketAddr) {
    let mut connections = JoinSet::new();
    while let Ok((mut from, _)) = listener.accept().await {
        connections.spawn(async move {
            let mut to = TcpStream::connect(registry).await.unwrap();
            let _closed_by_either = copy_bidirectional(&mut from, &mut to).await;
        });
    }
}

#[tokio::test]
async fn a_registered_schema_is_found_by_its_id_and_keeps_it() {
    let config = config("registered").await;
    let _client = migrated(&config).await;
    let (subject, json) = schema(&config);
    let catalogue = [(subject, json)];
    let ids = cache(&config).register_all(&catalogue).await.unwrap();
    // A second start registers again, and reads what the registry made of the schema.
    let second = cache(&config);
    let schema = second.fetch(ids[0]).await.unwrap();
    assert!(second.lookup(ids[0]).is_some());
    assert_eq!(
        *schema,
        apache_avro::Schema::parse_str(&catalogue[0].1).unwrap()
    );
    assert_eq!(second.register_all(&catalogue).await.unwrap(), ids);
}

#[tokio::test]
async fn an_unknown_id_is_missing_for_good_until_its_time_is_over() {
    let mut config = config("unknown_id").await;
    config.registry.missing_ttl = std::time::Duration::from_secs(3_600);
    let _client = migrated(&config).await;
    let way = Way::open(&mut config).await;
    let cache = cache(&config);
    let error = cache.fetch(UNKNOWN_ID).await.unwrap_err();
    assert!(
        matches!(error, RegistryError::Missing { id: UNKNOWN_ID }),
        "{error:?}"
    );
    way.cut().await;
    let remembered = cache.fetch(UNKNOWN_ID).await.unwrap_err();
    assert!(remembered.is_permanent(), "{remembered:?}");
}

#[tokio::test]
async fn stored_schemas_serve_while_the_registry_is_away() {
    let mut config = config("registry_away").await;
    let _client = migrated(&config).await;
    let way = Way::open(&mut config).await;
    let catalogue = [schema(&config)];
    let ids = cache(&config).register_all(&catalogue).await.unwrap();
    way.cut().await;

    let started_later = cache(&config);
    assert_eq!(started_later.register_all(&catalogue).await.unwrap(), ids);
    let reader = cache(&config);
    assert!(reader.fetch(ids[0]).await.is_ok());
    assert!(!reader.fetch(UNKNOWN_ID).await.unwrap_err().is_permanent());
    assert!(!reader.confirm_stored().await.unwrap_err().is_permanent());
}

#[tokio::test]
async fn an_id_that_changed_its_schema_is_refused() {
    let config = config("id_changed").await;
    let client = migrated(&config).await;
    let catalogue = [schema(&config)];
    let ids = cache(&config).register_all(&catalogue).await.unwrap();
    let sql = r#"UPDATE tidings_delivery.schema_ids SET schema = '"string"', fingerprint = '\x00'"#;
    assert_eq!(client.execute(sql, &[]).await.unwrap(), 1);

    let reader = cache(&config);
    let error = reader.fetch(ids[0]).await.unwrap_err();
    assert!(
        matches!(error, RegistryError::IdChanged { id, .. } if id == ids[0]),
        "{error:?}"
    );
    assert!(reader.lookup(ids[0]).is_none());
    let error = reader.register_all(&catalogue).await.unwrap_err();
    assert!(
        matches!(error, RegistryError::IdChanged { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn an_invalid_schema_is_refused_for_good() {
    let config = config("invalid_schema").await;
    let _client = migrated(&config).await;
    let catalogue = [(
        "edge.Invalid".to_owned(),
        r#"{"type":"no such type"}"#.to_owned(),
    )];
    let error = cache(&config).register_all(&catalogue).await.unwrap_err();
    assert!(matches!(error, RegistryError::Refused { .. }), "{error:?}");
}
