//! temporary
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod common;
use serde_json::json;
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn throughput() {
    for file in [false, true] {
        let mut options = common::options();
        let path = std::env::temp_dir().join(format!("sim-thr-{}", std::process::id()));
        if file {
            options.log_file = Some(path.clone());
        }
        let simulator = common::start(options).await;
        let client = reqwest::Client::new();
        let url = common::send_url(&simulator);
        let begin = std::time::Instant::now();
        let tasks: Vec<_> = (0..64).map(|t| { let client = client.clone(); let url = url.clone(); tokio::spawn(async move {
            for i in 0..400 { let body = json!({"chat_id": t + 1, "text": format!("order {i} confirmed, thank you very much")}).to_string();
                client.post(&url).body(body).send().await.unwrap().bytes().await.unwrap(); } }) }).collect();
        for t in tasks {
            t.await.unwrap();
        }
        let s = begin.elapsed().as_secs_f64();
        println!("file={file} {} calls/s", (64.0 * 400.0 / s) as u64);
        let b = std::time::Instant::now();
        let n = reqwest::get(format!("{}/sim/log", simulator.base_url()))
            .await
            .unwrap()
            .bytes()
            .await
            .unwrap()
            .len();
        println!(
            "log {n} bytes in {:?}, stats {:?}",
            b.elapsed(),
            simulator.stats()
        );
        let _ = std::fs::remove_file(&path);
    }
}
