use super::*;

struct Fixed(HealthStatus, Result<(), Vec<String>>);

impl HealthSource for Fixed {
    fn health(&self) -> HealthReport {
        let mut role_fields = serde_json::Map::new();
        role_fields.insert("shards".into(), 2.into());
        HealthReport {
            status: self.0,
            dispatched: 7,
            rate_limiter_tokens: [("telegram:main".to_owned(), None)].into(),
            role_fields,
            ..HealthReport::default()
        }
    }

    fn ready(&self) -> Result<(), Vec<String>> {
        self.1.clone()
    }
}

async fn serve(source: Fixed) -> AdminServer {
    let metrics = crate::telemetry::Metrics::local().unwrap();
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    AdminServer::start(loopback, metrics, Arc::new(source))
        .await
        .unwrap()
}

async fn get_json(server: &AdminServer, path: &str) -> (u16, serde_json::Value) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("http://{}{path}", server.address());
    let answer = client.get(url).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test]
async fn health_has_the_fields_that_operators_read() {
    let server = serve(Fixed(HealthStatus::Ok, Ok(()))).await;
    let (status, body) = get_json(&server, "/health").await;
    assert_eq!(status, 200);
    let expected = serde_json::json!({
        "status": "ok", "dispatched": 7, "failed": 0, "queue_depth": 0,
        "rate_limiter_tokens": {"telegram:main": null}, "shards": 2,
    });
    assert_eq!(body, expected);
    server.stop().await;
}

#[tokio::test]
async fn a_stuck_role_answers_503() {
    let server = serve(Fixed(HealthStatus::Stuck, Ok(()))).await;
    assert_eq!(get_json(&server, "/health").await.0, 503);
}

#[tokio::test]
async fn ready_names_what_is_missing() {
    let reasons = vec!["no partition is assigned".to_owned()];
    let server = serve(Fixed(HealthStatus::Ok, Err(reasons))).await;
    let (status, body) = get_json(&server, "/ready").await;
    assert_eq!(status, 503);
    assert_eq!(body["reasons"][0], "no partition is assigned");
}

#[tokio::test]
async fn a_taken_port_is_an_error_that_names_it() {
    let server = serve(Fixed(HealthStatus::Ok, Ok(()))).await;
    let metrics = crate::telemetry::Metrics::local().unwrap();
    let source = Arc::new(Fixed(HealthStatus::Ok, Ok(())));
    let error = AdminServer::start(server.address(), metrics, source)
        .await
        .unwrap_err();
    assert!(error.to_string().contains(&server.address().to_string()));
}
