//! Every language publishes in its own transaction.

use std::collections::HashMap;

use tidings_drill::RoleKind;
use tidings_tests::languages::{Language, find};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::snippet::{Order, Said, publish};
use crate::world::{World, examples};

#[tokio::test(flavor = "multi_thread")]
async fn what_every_languages_program_publishes_is_delivered_and_what_it_rolls_back_is_not() {
    let world = World::new().await;
    let table = std::fs::read_to_string(examples().join("orders.sql")).unwrap();
    world.upstream.batch_execute(&table).await.unwrap();

    let said = run_all(&world).await;
    assert!(!said.is_empty(), "no language was there to be tested");
    check_outbox(&world, &said).await;

    let _relay = world.run(RoleKind::Relay).await;
    let _dispatcher = world.run(RoleKind::Dispatcher).await;
    for (language, said) in &said {
        let state = world.settled(said.published).await;
        assert_eq!(state, "delivered", "{language}");
        let text = format!(
            "Order {} is confirmed.\nThank you, Ada Lovelace!\n\n- 2 x Green tea (TEA-1)\n\nTotal: 19.99 EUR",
            order(*language)
        );
        assert_eq!(world.texts(chat(*language)), [text], "{language}");
    }
}

/// All programs at the same time. A language that this machine lacks is left out.
async fn run_all(world: &World) -> HashMap<Language, Said> {
    let mut runs = JoinSet::new();
    for language in Language::ALL {
        let database = world.deployment.place().upstream_url.clone();
        let scratch = world.folder.join(format!("run-{language}"));
        runs.spawn_blocking(move || {
            let (chat, id) = (chat(language), &order(language));
            let order = Order {
                database: &database,
                chat,
                id,
            };
            find(language).map(|toolchain| (language, publish(&toolchain, &scratch, &order)))
        });
    }
    runs.join_all().await.into_iter().flatten().collect()
}

/// Before a relay takes them: exactly the committed ones, each as its program wrote it.
async fn check_outbox(world: &World, said: &HashMap<Language, Said>) {
    let statement = "select message_id, chat_id, producer, (data ->> 'amount')::numeric = 19.99,
            occurred_at = confirmed_at, expires_at = confirmed_at + interval '1 day', traceparent is not null
        from tidings.outbox left join example_orders on example_orders.id = aggregate_id";
    let rows = world.upstream.query(statement, &[]).await.unwrap();
    let mut found: HashMap<Uuid, _> = rows.iter().map(|row| (row.get(0), row)).collect();
    for (language, said) in said {
        assert!(
            !found.contains_key(&said.rolled_back),
            "{language} rolled back and published"
        );
        let row = found.remove(&said.published);
        let row = row.unwrap_or_else(|| panic!("{language} committed and did not publish"));
        assert_eq!(row.get::<_, &str>(1), chat(*language), "{language}");
        assert_eq!(row.get::<_, &str>(2), "shop", "{language}");
        for (column, what) in [
            (3, "amount"),
            (4, "occurred_at"),
            (5, "expires_at"),
            (6, "traceparent"),
        ] {
            assert_eq!(
                row.get::<_, Option<bool>>(column),
                Some(true),
                "{language}: {what}"
            );
        }
    }
    assert!(
        found.is_empty(),
        "published, and not said: {:?}",
        found.keys()
    );
}

fn chat(language: Language) -> &'static str {
    match language {
        Language::Psql => "101",
        Language::Python => "102",
        Language::Node => "103",
        Language::Go => "104",
        Language::Java => "105",
    }
}

fn order(language: Language) -> String {
    format!("{language}-1")
}
