//! Registries that are none, and ids that changed their meaning.

use tidings_edge::registry::RegistryClient;

use tidings_tests::connect;

use crate::world::World;

#[tokio::test]
async fn what_is_no_registry_is_not_taken_for_one() {
    let world = World::new().await;
    let other = world.deployment.place().simulator_url.clone();
    let diagnosis = world.doctor(&[("TIDINGS_REGISTRY__URL", &other)]).await;
    diagnosis.assert_problems(&[("registry", "registry.url", "/apis/ccompat/v7")]);
}

#[tokio::test]
async fn an_id_that_means_another_schema_is_a_problem() {
    let world = World::new().await;
    let config = world.config();
    let client = RegistryClient::new(&config.registry).unwrap();
    let schema = r#"{"type": "record", "name": "Now", "fields": []}"#;
    let subject = format!("{}.Now", config.kafka.prefix);
    let id = client.register(&subject, schema).await.unwrap();
    let state = connect(&world.deployment.place().state_url).await;
    let stored = r#"{"type": "record", "name": "Before", "fields": []}"#;
    let sql = "insert into tidings_delivery.schema_ids (registry_url, id, fingerprint, schema) values ($1, $2, '', $3)";
    let id = id.cast_signed();
    state
        .execute(sql, &[&client.url(), &id, &stored])
        .await
        .unwrap();
    let diagnosis = world.doctor(&[]).await;
    diagnosis.assert_problems(&[("schema ids", "registry.url", "restore the registry")]);
}
