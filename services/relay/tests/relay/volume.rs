//! A backlog: drained whole, in order, with memory bounded by what may be in flight.

use std::time::Instant;

use uuid::Uuid;

use crate::support::{World, firsts};

const ROWS: i32 = 50_000;

#[tokio::test(flavor = "multi_thread")]
async fn fifty_thousand_rows_are_drained_in_order() {
    let world = World::new().await;
    let data = r#"{"order_id":"A-1","customer_name":"Ada","amount":"19.99","currency":"EUR","items":[{"sku":"S","name":"Tea","quantity":2}],"note":"left at the door"}"#;
    let sql = "select tidings.publish('order.confirmed', 1, $1::text::json, 'order', n::text,
                   jsonb_build_object('platform', 'telegram', 'chat_id', (n % 500)::text))
               from generate_series(1, $2::int) n";
    let rows = world.client.query(sql, &[&data, &ROWS]).await.unwrap();
    let ids: Vec<Uuid> = rows.iter().map(|row| row.get(0)).collect();

    let begun_at = Instant::now();
    let relay = world.start_relay();
    relay.until_owning(2).await;
    let owning_at = Instant::now();
    world.until_drained().await;
    let seconds = owning_at.elapsed().as_secs_f64();
    println!(
        "{ROWS} rows in {seconds:.2} s: {:.0} rows/s; owned after {:?}",
        f64::from(ROWS) / seconds,
        owning_at - begun_at
    );

    let arrived = world.until_arrived("telegram.normal", &ids).await;
    assert_eq!(arrived.len(), ids.len());
    for chat in 0..500 {
        let expected: Vec<Uuid> = ids
            .iter()
            .copied()
            .skip((chat + 499) % 500)
            .step_by(500)
            .collect();
        let chat = chat.to_string();
        let of_chat: Vec<Uuid> = arrived
            .iter()
            .filter(|record| record.key == chat)
            .map(|record| record.id)
            .collect();
        assert_eq!(of_chat, expected, "chat {chat}");
    }
    assert_eq!(firsts(&arrived).len(), ids.len());
    relay.stop().await;
}
