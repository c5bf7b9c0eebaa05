//! Two versions of an event type, and dispatchers from before and after the second one, at the same time.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tidings_drill::{Role, RoleKind};
use tidings_judge::evidence::AttemptId;
use tidings_load::LoadOptions;
use tidings_simulator::log::Entry;
use uuid::Uuid;

use crate::world::{PATIENCE, World, no_faults};

/// The schemas as they were before there was a version 2 of `order.confirmed`, in a folder of the deployment.
fn old_folder(world: &World) -> std::path::PathBuf {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas");
    let folder = world.folder().join("old-schemas");
    for event in ["order.confirmed", "order.shipped", "notification.requested"] {
        fs::create_dir_all(folder.join(event)).unwrap();
        for file in ["type.toml", "v1.avsc", "template.txt"] {
            let from = ours.join(event).join(file);
            if from.exists() {
                fs::copy(&from, folder.join(event).join(file)).unwrap();
            }
        }
    }
    let template = folder.join("order.confirmed/template.txt");
    let newest = fs::read_to_string(&template).unwrap();
    let old = newest
        .replace("data.total.amount", "data.amount")
        .replace("data.total.currency", "data.currency");
    assert_ne!(old, newest);
    fs::write(&template, old).unwrap();
    folder
}

/// A dispatcher whose own catalogue has no version 2.
async fn old_dispatcher(world: &World, number: usize) -> Role {
    let variables = vec![("TIDINGS_SCHEMAS__FOLDER", old_folder(world).into())];
    let role = world.deployment.role(RoleKind::Dispatcher, number);
    let mut role = role.with_environment(variables);
    role.start().await.unwrap();
    role.ready(PATIENCE).await.unwrap();
    role
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_and_a_new_dispatcher_deliver_both_versions() {
    let world = World::new().await;
    let _relay = world.relay().await;
    let dispatchers = [world.dispatcher(1).await, old_dispatcher(&world, 2).await];
    let mut options = LoadOptions::new(world.deployment.place().upstream_url.clone());
    options.orders = 400;
    options.chats = 100;
    options.second_version_share = 0.5;
    println!("load seed {}", options.seed);
    tidings_load::run(options, |_| {}).await.unwrap();
    let report = world.judge(no_faults()).await;
    world.assert_kept(&report);

    let posts = world.deployment.simulator().log_from(1);
    let confirmed = posts
        .iter()
        .filter(|post| text(post).contains(" is confirmed."));
    let mut seen = HashSet::new();
    for post in confirmed {
        assert_total(text(post));
        let attempt: AttemptId = post.attempt.as_deref().unwrap().parse().unwrap();
        seen.insert(attempt.owner);
    }
    let owners = dispatchers.iter().map(|role| role.owner().unwrap());
    assert_eq!(seen, owners.collect(), "each dispatcher had its share");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_order_reads_the_same_in_both_versions_on_an_old_dispatcher() {
    let world = World::new().await;
    let _relay = world.relay().await;
    let _dispatcher = old_dispatcher(&world, 1).await;
    assert_same_texts(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_order_reads_the_same_in_both_versions_on_a_new_dispatcher() {
    let world = World::new().await;
    let (_relay, _dispatcher) = (world.relay().await, world.dispatcher(1).await);
    assert_same_texts(&world).await;
}

async fn assert_same_texts(world: &World) {
    let amounts = ["19.99", "0.0001", "90071992547409.9311", "-3.10"];
    for (chat, amount) in (1..).zip(amounts) {
        let mut order = json!({"order_id": "A-1", "customer_name": "Zoë <b>", "items": [{"sku": "T", "name": "Tea", "quantity": 2}]});
        let mut old = order.clone();
        old["amount"] = json!(amount);
        old["currency"] = json!("EUR");
        order["total"] = json!({"amount": amount, "currency": "EUR"});
        let first = publish(world, chat, 1, &old).await;
        let second = publish(world, chat, 2, &order).await;
        for message in [first, second] {
            assert_eq!(world.settled(message).await.0, "delivered");
        }
        let text = format!(
            "Order A-1 is confirmed.\nThank you, Zoë <b>!\n\n- 2 x Tea (T)\n\nTotal: {amount} EUR"
        );
        assert_eq!(world.texts(chat), [text.clone(), text]);
    }
}

async fn publish(world: &World, chat: i64, version: i32, data: &Value) -> Uuid {
    let statement = "select tidings.publish('order.confirmed', $1, $2::text::json, 'order', 'A-1',
        jsonb_build_object('platform', 'telegram', 'chat_id', $3::text))";
    let row = world
        .upstream
        .query_one(statement, &[&version, &data.to_string(), &chat.to_string()])
        .await;
    row.unwrap().get(0)
}

fn text(post: &Entry) -> &str {
    post.text.as_deref().unwrap_or_default()
}

/// `Total: 1234.56 EUR`, whichever field it came from.
fn assert_total(text: &str) {
    let total = text.lines().find_map(|line| line.strip_prefix("Total: "));
    let words: Vec<&str> = total.unwrap_or_default().split(' ').collect();
    let [amount, currency] = words[..] else {
        panic!("no total: {text}");
    };
    assert!(
        amount
            .chars()
            .all(|sign| sign.is_ascii_digit() || sign == '.'),
        "{text}"
    );
    assert!(["EUR", "USD", "PLN"].contains(&currency), "{text}");
}
