use super::*;
use crate::testing::serve_once;

fn client(url: String) -> RegistryClient {
    let mut config = crate::config::Config::defaults().unwrap().registry;
    config.url = url;
    RegistryClient::new(&config).unwrap()
}

fn answer(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

async fn schema_by_id(status: &str, body: &str) -> Result<String, RegistryError> {
    let address = serve_once(answer(status, body).into_bytes()).await;
    client(format!("http://{address}")).schema_by_id(7).await
}

#[tokio::test]
async fn an_unknown_id_is_missing_but_a_wrong_path_is_not() {
    let unknown = schema_by_id("404 Not Found", r#"{"error_code":40403,"message":"no"}"#).await;
    assert!(
        matches!(unknown, Err(RegistryError::Missing { id: 7 })),
        "{unknown:?}"
    );
    for body in ["<html>", r#"{"error_code":404,"message":"RESTEASY"}"#] {
        let wrong_path = schema_by_id("404 Not Found", body).await.unwrap_err();
        assert!(!wrong_path.is_permanent(), "{wrong_path:?}");
    }
}

#[tokio::test]
async fn a_server_error_and_a_refused_connection_are_not_permanent() {
    let failing = schema_by_id("500 Oops", r#"{"error_code":50001,"message":"x"}"#).await;
    assert!(!failing.unwrap_err().is_permanent());
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let refused = client(format!("http://{address}")).schema_by_id(1).await;
    assert!(!refused.unwrap_err().is_permanent());
}

#[tokio::test]
async fn only_avro_without_references_is_usable() {
    let avro = schema_by_id("200 OK", r#"{"schema":"\"string\""}"#)
        .await
        .unwrap();
    assert_eq!(avro, "\"string\"");
    for body in [
        r#"{"schema":"{}","schemaType":"JSON"}"#,
        r#"{"schema":"\"a.B\"","references":[{"name":"a.B","subject":"a.B","version":1}]}"#,
    ] {
        let other = schema_by_id("200 OK", body).await;
        assert!(
            matches!(other, Err(RegistryError::Unusable { .. })),
            "{other:?}"
        );
    }
}

#[tokio::test]
async fn a_refused_schema_is_permanent_and_names_the_subject() {
    for (status, body) in [
        (
            "409 Conflict",
            r#"{"error_code":409,"message":"incompatible"}"#,
        ),
        (
            "422 Unprocessable",
            r#"{"error_code":42201,"message":"invalid"}"#,
        ),
        ("409 Conflict", "no json"),
    ] {
        let address = serve_once(answer(status, body).into_bytes()).await;
        let refused = client(format!("http://{address}/"))
            .register("shop.Order", "{}")
            .await
            .unwrap_err();
        assert!(refused.is_permanent(), "{refused:?}");
        assert!(refused.to_string().contains("shop.Order"));
    }
}
