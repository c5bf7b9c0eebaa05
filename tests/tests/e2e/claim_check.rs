//! Contents that travel by reference: fetched beside the platform's call, verified, or given up with the reason.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tidings_drill::Profile;
use tidings_edge::content::sha256_hex;
use tidings_stack::Stack;
use uuid::Uuid;

use tidings_tests::binary;
use tidings_tests::s3::S3;

use crate::poison::{dead_letters, header};
use crate::world::{World, until};

/// Some waits of the interactive profile, so that a content has time to arrive.
const RETRIES: &str = "[dispatcher.retry.interactive]\ndelays = [\"100ms\", \"200ms\", \"400ms\", \"800ms\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\"]\n";

/// A folder of one test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let name = format!("tidings-contents-{}", Uuid::new_v4().simple());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn settings(&self) -> String {
        let folder = self.0.display();
        format!(
            "[claim_check]\nstore = \"folder\"\nfolder = \"{folder}\"\nmax_bytes = 20000\n\n{RETRIES}"
        )
    }

    fn write(&self, key: &str, content: &str) {
        let file = self.0.join(key);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let half = file.with_extension("part");
        std::fs::write(&half, content).unwrap();
        std::fs::rename(half, file).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn world(settings: String) -> World {
    let profile = Profile {
        more: settings,
        ..Profile::drill()
    };
    World::with(Stack::shared().await.unwrap(), profile).await
}

fn claim(key: &str, content: &str) -> Value {
    json!({
        "storage_key": key,
        "content_type": "text/plain",
        "size_bytes": content.len(),
        "sha256": sha256_hex(content.as_bytes()),
    })
}

/// Publishes what the claim check names, as psql would.
async fn refer(world: &World, chat: i64, claim: &Value) -> Uuid {
    let statement = "select tidings.publish('notification.requested', 1, '{\"text\": \"in short\"}', 'notice', '1',
        jsonb_build_object('platform', 'telegram', 'chat_id', $1::text), claim_check => $2::text::jsonb)";
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 2] =
        [&chat.to_string(), &claim.to_string()];
    let row = world.upstream.query_one(statement, &parameters).await;
    row.unwrap().get(0)
}

/// What `tidings claim-check put --json` says of a file.
fn put(world: &World, file: &Path, more: &[&str]) -> (Option<i32>, Value, String) {
    let output = Command::new(binary())
        .args(["claim-check", "put", "--json", "--config"])
        .arg(world.deployment.config_file())
        .arg(file)
        .args(more)
        .output()
        .unwrap();
    let said = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let words = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), said, words)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_by_reference_arrives_and_the_chat_keeps_its_order() {
    let contents = Folder::new();
    let world = world(contents.settings()).await;
    let (_relay, _dispatcher) = (world.relay().await, world.dispatcher(1).await);
    let (file, text) = (contents.0.join("upload"), "Zeile äöü 😀 ".repeat(200));
    std::fs::write(&file, &text).unwrap();
    let (code, first, words) = put(&world, &file, &[]);
    assert_eq!(code, Some(0), "{words}");
    let (_, named, _) = put(&world, &file, &["--key", "notices/1.txt"]);
    assert_eq!(named["storage_key"], "notices/1.txt");
    world.say(1, "before").await;
    refer(&world, 1, &first).await;
    refer(&world, 1, &named).await;
    let last = world.say(1, "after").await;
    assert_eq!(world.settled(last).await.0, "delivered");
    assert_eq!(world.texts(1), ["before", &text, &text, "after"]);

    std::fs::write(&file, "other").unwrap();
    let (code, _, words) = put(&world, &file, &["--key", "notices/1.txt"]);
    assert_eq!(code, Some(4), "{words}");
    assert!(words.contains("choose another key"), "{words}");
    std::fs::write(&file, "x".repeat(20_001)).unwrap();
    assert_eq!(put(&world, &file, &[]).0, Some(4));
}

#[tokio::test(flavor = "multi_thread")]
async fn other_content_than_claimed_is_a_dead_letter_that_says_what_was_found() {
    let contents = Folder::new();
    let world = world(contents.settings()).await;
    let (_relay, _dispatcher) = (world.relay().await, world.dispatcher(1).await);
    contents.write("a/changed.txt", "changed");
    contents.write("a/long.txt", &"x".repeat(5_000));
    contents.write("a/latin.txt", "x");
    std::fs::write(contents.0.join("a/latin.txt"), [0xfc]).unwrap();
    let mut pdf = claim("a/changed.txt", "changed");
    pdf["content_type"] = json!("application/pdf");
    let mut latin = claim("a/latin.txt", "x");
    latin["sha256"] = json!(sha256_hex(&[0xfc]));
    let (claimed, found) = (sha256_hex(b"claimed"), sha256_hex(b"changed"));
    let cases = [
        (
            claim("a/changed.txt", "claimed"),
            vec!["a/changed.txt", &claimed, &found],
        ),
        (
            claim("a/changed.txt", "shorter or longer"),
            vec!["a/changed.txt", "17", "7"],
        ),
        (pdf, vec!["a/changed.txt", "application/pdf", "text/plain"]),
        (
            claim("a/large.txt", &"x".repeat(20_001)),
            vec!["a/large.txt", "20001", "20000"],
        ),
        (latin, vec!["a/latin.txt", "UTF-8"]),
        (
            claim("a/long.txt", &"x".repeat(5_000)),
            vec!["5000 characters"],
        ),
    ];
    for (claim, words) in &cases {
        let message = refer(&world, 5, claim).await;
        let (state, attempts, reason) = world.settled(message).await;
        assert_eq!((state.as_str(), attempts), ("rejected", 1), "{reason}");
        for word in words {
            assert!(reason.contains(word), "{word}: {reason}");
        }
    }
    let after = world.say(5, "after").await;
    assert_eq!(world.settled(after).await.0, "delivered");
    assert_eq!(world.texts(5), ["after"]);
    let letters = dead_letters(&world, cases.len());
    let mut reasons = letters.iter().map(|letter| {
        assert_eq!(
            header(letter, "tidings_dlq_category"),
            [Some(b"rejected".to_vec())]
        );
        String::from_utf8(header(letter, "tidings_dlq_reason")[0].clone().unwrap()).unwrap()
    });
    assert!(reasons.any(|reason| reason.contains(&found)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_content_that_arrives_late_is_delivered_after_a_retry() {
    let contents = Folder::new();
    let world = world(contents.settings()).await;
    let (_relay, _dispatcher) = (world.relay().await, world.dispatcher(1).await);
    let message = refer(&world, 6, &claim("later/x.txt", "at last")).await;
    let behind = world.say(6, "behind").await;
    tried(&world, message).await;
    contents.write("later/x.txt", "at last");
    let (state, attempts, reason) = world.settled(message).await;
    assert_eq!(state, "delivered", "{reason}");
    assert!(attempts > 1, "{attempts}");
    assert_eq!(world.settled(behind).await.0, "delivered");
    assert_eq!(world.texts(6), ["at last", "behind"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_store_it_is_a_dead_letter_with_the_remedy() {
    let world = World::new().await;
    let (_relay, _dispatcher) = (world.relay().await, world.dispatcher(1).await);
    let message = refer(&world, 7, &claim("k", "x")).await;
    let (state, _, reason) = world.settled(message).await;
    assert_eq!(state, "rejected");
    assert!(
        reason.contains("set claim_check.store and replay"),
        "{reason}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_of_a_bucket_are_put_and_fetched_with_signed_requests() {
    let Some(s3) = S3::start() else {
        return; // It has said so.
    };
    let contents = Folder::new();
    let secret = contents.0.join("secret");
    std::fs::write(&secret, &s3.secret_access_key).unwrap();
    let world = world(format!("{}\n{RETRIES}", s3.settings(&secret))).await;
    let (_relay, _dispatcher) = (world.relay().await, world.dispatcher(1).await);
    let (file, text) = (contents.0.join("upload"), "Aus dem Eimer: äöü 😀");
    std::fs::write(&file, text).unwrap();
    // moto checks the signatures of other characters wrongly, of Amazon's own client too.
    let key = "notices/a b~c.txt";
    for _ in 0..2 {
        let (code, said, words) = put(&world, &file, &["--key", key]);
        assert_eq!((code, &said), (Some(0), &claim(key, text)), "{words}");
    }
    let message = refer(&world, 8, &claim(key, text)).await;
    let (state, _, reason) = world.settled(message).await;
    assert_eq!(state, "delivered", "{reason}");
    assert_eq!(world.texts(8), [text]);

    let wrong = refer(&world, 8, &claim(key, &text.replace('A', "E"))).await;
    let (state, _, reason) = world.settled(wrong).await;
    assert_eq!(state, "rejected");
    assert!(reason.contains(&sha256_hex(text.as_bytes())), "{reason}");

    let late = refer(&world, 8, &claim("late", "at last")).await;
    tried(&world, late).await;
    std::fs::write(&file, "at last").unwrap();
    assert_eq!(put(&world, &file, &["--key", "late"]).0, Some(0));
    assert_eq!(world.settled(late).await.0, "delivered");

    std::fs::write(&file, "other").unwrap();
    assert_eq!(
        put(&world, &file, &["--key", key]).0,
        Some(4),
        "a key keeps its content"
    );
    std::fs::write(&secret, "not the key").unwrap();
    let (code, _, words) = put(&world, &file, &["--key", "forged"]);
    assert_eq!(code, Some(1));
    assert!(words.contains("refuses access"), "{words}");
    assert!(
        !words.contains("not the key") && !words.contains("StringToSign"),
        "{words}"
    );
}

/// Waits until an attempt has failed.
async fn tried(world: &World, message: Uuid) {
    let statement = "select count(*) from tidings_delivery.claims
        where message_id = $1 and attempts > 0 and settled_at is null";
    until("an attempt has failed", async || {
        let row = world.state.query_one(statement, &[&message]).await.unwrap();
        row.get::<_, i64>(0) == 1
    })
    .await;
}
