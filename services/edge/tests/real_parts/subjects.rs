//! What a real registry makes of our schemas' property, and of changes that our own check refuses.

use tidings_edge::registry::{RegistryClient, RegistryError, Subjects};
use tidings_edge::schemas::{first_incompatible, incompatible};
use tidings_envelope::{Catalogue, EventType, TypeFolder};

use super::config;

const DECLARATION: &str = "owner = \"a\"\npolicy = \"resend\"\nretry = \"standard\"\non_dead = \"continue\"\non_stale = \"send\"\ntext = \"template\"\n";
const DATA: &str = r#"{"type":"record","name":"Data","fields":[{"name":"place","type":"string"}]}"#;

fn catalogue(name: &str, template: &str, data: &str) -> Catalogue {
    Catalogue::from_folders(&[TypeFolder {
        name,
        declaration: DECLARATION,
        template: Some(template),
        older_templates: &[],
        versions: &[(1, data)],
    }])
    .unwrap()
}

fn only(catalogue: &Catalogue) -> &EventType {
    catalogue.iter().next().unwrap()
}

#[tokio::test]
async fn a_changed_template_is_registered_and_a_changed_field_is_refused() {
    let config = config("subjects").await;
    let name = format!("{}.tested", config.kafka.prefix.replace('-', "_"));
    let client = RegistryClient::new(&config.registry).unwrap();
    let subjects = Subjects::new(&config.registry).unwrap();
    let first = catalogue(&name, "At {{ data.place }}", DATA);
    let event = only(&first);
    let subject = event.full_name();
    assert!(subjects.editions(subject).await.unwrap().is_empty());
    let id = client.register(subject, event.schema_json()).await.unwrap();
    subjects.require_full_transitive(subject).await.unwrap();

    let renamed = catalogue(&name, "Now at {{ data.place }}", DATA);
    let renamed = only(&renamed);
    let newer_id = client
        .register(subject, renamed.schema_json())
        .await
        .unwrap();
    let text = client.schema_by_id(newer_id).await.unwrap();
    assert!(
        text.contains("Now at {{ data.place }}"),
        "the property is kept: {text}"
    );
    assert_ne!(id, newer_id);
    let editions = subjects.editions(subject).await.unwrap();
    let ids: Vec<u32> = editions.iter().map(|edition| edition.id).collect();
    assert_eq!(ids, [id, newer_id]);
    assert!(incompatible(renamed, &editions).is_empty());

    let broken = DATA.replace(r#""place","type":"string""#, r#""place","type":"int""#);
    let broken = catalogue(&name, "At {{ data.place }}", &broken);
    let found = first_incompatible(&broken, &subjects)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.found.field, "data.place");
    assert!(
        found
            .to_string()
            .contains("changed its type from string to int"),
        "{found}"
    );
    let refused = client.register(subject, only(&broken).schema_json()).await;
    assert!(
        matches!(refused, Err(RegistryError::Refused { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_registry_that_is_not_there_or_is_none_says_so() {
    let mut config = config("no_registry").await.registry;
    config.url = "http://127.0.0.1:1/apis/ccompat/v7".to_owned();
    let away = Subjects::new(&config).unwrap().editions("x").await;
    assert!(away.unwrap_err().to_string().contains("check registry.url"));
}
