//! Databases that are not prepared, not the right ones, or do not let the roles do their work.

use tidings_stack::Stack;

use tidings_tests::connect;

use crate::world::{World, closed_port};

/// The same database for another user of the cluster, which trusts all of them.
fn as_user(url: &str, user: &str) -> String {
    url.replacen("tidings@", &format!("{user}@"), 1)
}

#[tokio::test]
async fn databases_that_are_not_prepared_are_told_to_be_migrated() {
    let world = World::new().await;
    let stack = Stack::shared().await.unwrap();
    let name = format!("{}_empty", world.deployment.place().prefix);
    let empty = stack.create_database(&name).await.unwrap();
    let upstream = world
        .doctor(&[("TIDINGS_UPSTREAM__DATABASE", &empty)])
        .await;
    upstream.assert_problems(&[("upstream", "upstream.database", "tidings migrate")]);
    let state = world.doctor(&[("TIDINGS_STATE__DATABASE", &empty)]).await;
    state.assert_problems(&[("state", "state.database", "tidings migrate")]);
}

#[tokio::test]
async fn a_user_without_rights_is_told_which_and_how_to_get_them() {
    let world = World::new().await;
    let place = world.deployment.place();
    let user = format!("{}_user", place.prefix);
    let owner = connect(&place.upstream_url).await;
    owner
        .batch_execute(&format!("create role {user} login"))
        .await
        .unwrap();
    let upstream = as_user(&place.upstream_url, &user);
    let state = as_user(&place.state_url, &user);
    let variables = [
        ("TIDINGS_UPSTREAM__DATABASE", upstream.as_str()),
        ("TIDINGS_STATE__DATABASE", state.as_str()),
    ];
    let diagnosis = world.doctor(&variables).await;
    let grant = format!("grant tidings_relay to \"{user}\"");
    diagnosis.assert_problems(&[
        ("upstream", "upstream.database", &grant),
        ("state", "state.database", "ran `tidings migrate`"),
    ]);

    // The remedy is one.
    owner
        .batch_execute(&format!("grant tidings_relay to {user}"))
        .await
        .unwrap();
    world.doctor(&variables[..1]).await.assert_problems(&[]);
    owner
        .batch_execute(&format!("drop role {user}"))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_database_that_cannot_be_written_or_reached_is_named() {
    let world = World::new().await;
    let place = world.deployment.place();
    let read_only = format!(
        "{}?options=-cdefault_transaction_read_only%3Don",
        place.upstream_url
    );
    let diagnosis = world
        .doctor(&[("TIDINGS_UPSTREAM__DATABASE", &read_only)])
        .await;
    diagnosis.assert_problems(&[("upstream", "upstream.database", "name the primary")]);

    let nowhere = format!("postgres://u@127.0.0.1:{}/d", closed_port().await);
    let diagnosis = world.doctor(&[("TIDINGS_STATE__DATABASE", &nowhere)]).await;
    diagnosis.assert_problems(&[("state", "state.database", "check that the server runs")]);
}

#[tokio::test]
async fn an_outbox_of_another_version_is_a_warning() {
    let world = World::new().await;
    let upstream = connect(&world.deployment.place().upstream_url).await;
    let older = "create or replace function tidings.uuid_v7() returns uuid language sql as $$ select gen_random_uuid() $$";
    upstream.batch_execute(older).await.unwrap();
    let diagnosis = world.doctor(&[]).await;
    diagnosis.assert_problems(&[]);
    diagnosis.assert_warnings(&[("upstream", "upstream.database", "tidings migrate")]);
}
