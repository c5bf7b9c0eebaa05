//! `tidings capacity`.

use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::DefaultClientContext;
use rdkafka::{Offset, TopicPartitionList};
use serde_json::json;
use tidings_tests::connect;

use crate::world::{DAY, World};

#[tokio::test(flavor = "multi_thread")]
async fn b26_a_lane_with_lag_is_told_with_the_number_and_its_caps() {
    let world = World::new().await;
    world.append("normal", 40, Duration::ZERO);
    world.commit("normal", 10);
    let load = [
        "--arrival-per-second",
        "1000",
        "--processing-seconds",
        "0.5",
    ];
    let bounds = [
        ("TIDINGS_DISPATCHER__MAX_IN_FLIGHT_CALLS", "10"),
        ("TIDINGS_DISPATCHER__MAX_IN_FLIGHT_CALLS_PER_ACCOUNT", "10"),
    ];
    let said = world.capacity(&load, &bounds).await;
    assert_eq!(said.code, Some(0), "{}", said.output);

    let lane = said.lane(&world.topic("normal"));
    assert_eq!(lane["lag"], 30, "{lane}");
    assert_eq!(lane["retention_seconds"], 7.0 * 86_400.0);
    assert_eq!(lane["alarm"], false);
    let partition = &lane["partitions"][1];
    let place = (
        &partition["committed"],
        &partition["end"],
        &partition["lag"],
    );
    assert_eq!(place, (&json!(10), &json!(40), &json!(30)));
    assert!(
        partition["oldest_age_seconds"].as_f64().unwrap() < 3_600.0,
        "{partition}"
    );
    assert_eq!(said.lane(&world.topic("high"))["lag"], 0);

    // 10 / 0.5 * 0.7 = 14 messages a second and consumer.
    let capacity = &said.capacity;
    assert_eq!(capacity["uncapped"], 72, "{capacity}");
    assert_eq!(capacity["required_consumers"], 9, "{capacity}");
    assert_eq!(capacity["capped_by"], "partitions");
    assert_eq!(capacity["inputs"]["concurrency_per_consumer"]["value"], 10);
    let caps = &capacity["caps"];
    assert_eq!(
        caps["quota"]["consumers"], 72,
        "1000 a second are what the account has: {caps}"
    );
    let source = caps["quota"]["accounts"][0]["source"].as_str().unwrap();
    assert!(source.contains("does not know the account yet"), "{source}");
    assert_eq!(
        caps["connections"]["consumers"],
        usable_connections(&world).await / 5
    );
}

/// By the server itself.
async fn usable_connections(world: &World) -> i64 {
    let state = connect(&world.deployment.place().state_url).await;
    let statement = "select current_setting('max_connections')::int8
        - (select sum(setting::int8)::int8 from pg_settings where name in ('superuser_reserved_connections', 'reserved_connections'))";
    state.query_one(statement, &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn b26_arrival_is_measured_and_connections_cap() {
    let world = World::new().await;
    let arriving = async {
        loop {
            tokio::task::block_in_place(|| world.append("high", 50, Duration::ZERO));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let connections = usable_connections(&world).await - 1;
    let connections = connections.to_string();
    let variables = [(
        "TIDINGS_DISPATCHER__DATABASE_CONNECTIONS",
        connections.as_str(),
    )];
    let load = ["--processing-seconds", "1000"];
    let said = tokio::select! {
        said = world.capacity(&load, &variables) => said,
        () = arriving => unreachable!("it never ends"),
    };
    assert_eq!(said.code, Some(0), "{}", said.output);
    let arrival = &said.capacity["inputs"]["arrival_per_second"];
    assert!(arrival["value"].as_f64().unwrap() > 0.0, "{arrival}");
    assert!(
        arrival["source"].as_str().unwrap().starts_with("measured"),
        "{arrival}"
    );
    assert_eq!(said.capacity["capped_by"], "connections", "{}", said.output);
    assert_eq!(said.capacity["required_consumers"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn f44_a_lane_whose_oldest_unread_record_is_past_half_of_its_retention_fails_by_name() {
    let world = World::new().await;
    world.append("normal", 1, 3 * DAY);
    world.append("high", 2, 4 * DAY);
    let said = world.capacity(&[], &[]).await;
    assert_eq!(said.code, Some(1), "{}", said.output);
    let high = said.lane(&world.topic("high"));
    assert_eq!(
        (&high["alarm"], &high["lag"]),
        (&json!(true), &json!(2)),
        "{high}"
    );
    let part = high["lag_of_retention"].as_f64().unwrap();
    assert!((4.0 / 7.0..0.6).contains(&part), "{high}");
    let remedy = high["remedy"].as_str().unwrap();
    assert!(remedy.contains(&world.topic("high")), "{remedy}");
    // Three of seven days are not half.
    assert_eq!(said.lane(&world.topic("normal"))["alarm"], false);

    // Once the group is done with it, it does not count.
    world.commit("high", 2);
    assert_eq!(world.capacity(&[], &[]).await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn f44_records_that_were_deleted_unread_fail_by_number() {
    let world = World::new().await;
    world.append("replay", 10, Duration::ZERO);
    world.commit("replay", 2);
    // As retention does it, only now.
    let admin: AdminClient<DefaultClientContext> = world.client().create().unwrap();
    let mut list = TopicPartitionList::new();
    let topic = world.topic("replay");
    list.add_partition_offset(&topic, 1, Offset::Offset(5))
        .unwrap();
    admin
        .delete_records(&list, &AdminOptions::new())
        .await
        .unwrap();
    let said = world.capacity(&[], &[]).await;
    assert_eq!(said.code, Some(1), "{}", said.output);
    let lane = said.lane(&topic);
    assert_eq!(
        (&lane["deleted_unread"], &lane["lag"], &lane["alarm"]),
        (&json!(3), &json!(5), &json!(true)),
        "{lane}"
    );
    assert_eq!(said.lane(&world.topic("normal"))["alarm"], false);
}
