//! Least privilege (requirement B29): a service may publish and nothing else; the relay may do its work and no more.

use tidings_edge::config::Secret;
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use crate::support::{World, notify};

/// A login of this test's own that is a member of `role`; the URL by which it reaches the outbox.
async fn login(world: &World, role: &str) -> String {
    let name = format!("login_{}", Uuid::new_v4().simple());
    let sql = format!("create role {name} login password 'canary'; grant {role} to {name}");
    world.client.batch_execute(&sql).await.unwrap();
    let url = world.config.upstream.database.expose();
    let (_, place) = url.rsplit_once('@').unwrap();
    format!("postgresql://{name}:canary@{place}")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_grants_suffice_and_are_no_wider() {
    let mut world = World::new().await;
    let service = login(&world, "tidings_publisher").await;
    let relay = login(&world, "tidings_relay").await;
    world.config.upstream.database = Secret::new(service);
    let service = world.service().await;
    let id = notify(&service, "1", "hello").await;
    for refused in [
        "select * from tidings.outbox",
        "delete from tidings.outbox",
        "select tidings.uuid_v7()",
    ] {
        let error = service.batch_execute(refused).await.unwrap_err();
        assert_eq!(
            error.code(),
            Some(&SqlState::INSUFFICIENT_PRIVILEGE),
            "{refused}"
        );
    }

    world.config.upstream.database = Secret::new(relay);
    let running = world.start_relay();
    world.until_arrived("telegram.normal", &[id]).await;
    world.until_drained().await;
    running.stop().await;
    let relay = world.service().await;
    for refused in [
        "insert into tidings.outbox_settings default values",
        "update tidings.outbox set data = '{}'",
    ] {
        let error = relay.batch_execute(refused).await.unwrap_err();
        assert_eq!(
            error.code(),
            Some(&SqlState::INSUFFICIENT_PRIVILEGE),
            "{refused}"
        );
    }
}
