use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use super::*;
use crate::testing::{read_request, serve, serve_once};

const LONG: Duration = Duration::from_secs(20);

async fn call(url: &str, deadline: Duration) -> CallOutcome {
    let client = PlatformClient::new(&PlatformClientSettings::default()).unwrap();
    let headers = [("tidings-attempt".to_owned(), "m/o/1/1".to_owned())];
    let call = PlatformCall {
        method: "POST",
        url,
        headers: &headers,
        body: b"{}".to_vec(),
        deadline,
        leave_by: None,
    };
    client.call(call).await.unwrap()
}

fn response(outcome: CallOutcome) -> PlatformResponse {
    match outcome {
        CallOutcome::Response(response) => response,
        CallOutcome::NotSent(_) | CallOutcome::Lost(_) => panic!("{outcome:?}"),
    }
}

#[tokio::test]
async fn an_answer_has_status_headers_and_body() {
    let answer = b"HTTP/1.1 429 Slow\r\nRetry-After: 3\r\ncontent-length: 2\r\n\r\n{}".to_vec();
    let address = serve_once(answer).await;
    let response = response(call(&format!("http://{address}/botcanary/x"), LONG).await);
    assert_eq!(
        (response.status, response.body.as_slice()),
        (429, b"{}".as_slice())
    );
    assert!(
        response
            .headers
            .contains(&("retry-after".into(), "3".into()))
    );
}

#[tokio::test]
async fn a_body_is_cut_at_its_bound() {
    let mut answer = b"HTTP/1.1 200 OK\r\ncontent-length: 200000\r\n\r\n".to_vec();
    answer.resize(answer.len() + 200_000, b'x');
    let address = serve(move |mut connection| async move {
        read_request(&mut connection).await;
        // The reader stops at its bound and hangs up, so this may fail.
        let _written = connection.write_all(&answer).await;
    })
    .await;
    let response = response(call(&format!("http://{address}"), LONG).await);
    assert_eq!(response.body.len(), RESPONSE_BODY_BYTES);
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let answer =
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    let address = serve_once(answer.to_vec()).await;
    let response = response(call(&format!("http://{address}"), LONG).await);
    assert_eq!(response.status, 302);
}

#[tokio::test]
async fn a_refused_connection_was_not_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let outcome = call(&format!("http://{address}"), LONG).await;
    assert_eq!(outcome, CallOutcome::NotSent(NotSent::Connect));
}

#[tokio::test]
async fn a_name_without_address_was_not_sent() {
    let outcome = call("http://no-such-host.invalid/", LONG).await;
    assert_eq!(outcome, CallOutcome::NotSent(NotSent::Dns));
}

#[tokio::test]
async fn tls_with_a_server_that_speaks_none_was_not_sent() {
    let address = serve(|mut connection| async move {
        let mut hello = [0; 16];
        tokio::io::AsyncReadExt::read_exact(&mut connection, &mut hello)
            .await
            .unwrap();
        connection
            .write_all(b"HTTP/1.1 400 Bad\r\n\r\n")
            .await
            .unwrap();
    })
    .await;
    let outcome = call(&format!("https://{address}"), LONG).await;
    assert_eq!(outcome, CallOutcome::NotSent(NotSent::Tls));
}

#[tokio::test]
async fn malformed_requests_were_not_sent() {
    for url in ["not a url", "ftp://127.0.0.1/", "http://"] {
        let outcome = call(url, LONG).await;
        assert_eq!(outcome, CallOutcome::NotSent(NotSent::Invalid), "{url}");
    }
}

#[tokio::test]
async fn a_connection_that_closes_without_an_answer_is_lost() {
    let address = serve(|mut connection| async move {
        read_request(&mut connection).await;
    })
    .await;
    let outcome = call(&format!("http://{address}"), LONG).await;
    assert!(matches!(outcome, CallOutcome::Lost(_)), "{outcome:?}");
}

#[tokio::test]
async fn a_silent_platform_is_lost_at_the_deadline() {
    let (keep, kept) = tokio::sync::oneshot::channel::<()>();
    let address = serve(|mut connection| async move {
        read_request(&mut connection).await;
        let _until_the_end = kept.await;
    })
    .await;
    let outcome = call(&format!("http://{address}"), Duration::from_millis(300)).await;
    assert_eq!(outcome, CallOutcome::Lost(Lost::Timeout));
    drop(keep);
}

#[tokio::test]
async fn a_broken_body_loses_an_acceptance_but_not_a_refusal() {
    for (status, lost) in [("200 OK", true), ("403 Forbidden", false)] {
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 10\r\n\r\n{{\"o");
        let address = serve_once(answer.into_bytes()).await;
        let outcome = call(&format!("http://{address}"), LONG).await;
        assert_eq!(matches!(outcome, CallOutcome::Lost(_)), lost, "{outcome:?}");
    }
}

#[tokio::test]
async fn no_outcome_prints_the_url() {
    let outcome = call("http://no-such-host.invalid/botcanary/x", LONG).await;
    assert!(!format!("{outcome:?}").contains("canary"));
}

#[tokio::test]
async fn what_cannot_leave_in_time_leaves_nothing() {
    let (seen, mut came) = tokio::sync::mpsc::unbounded_channel();
    let address = serve(move |mut connection| {
        let seen = seen.clone();
        async move {
            let mut bytes = Vec::new();
            // The caller hangs up, which may look like an error.
            let _read = tokio::io::AsyncReadExt::read_to_end(&mut connection, &mut bytes).await;
            let _sent = seen.send(bytes);
        }
    })
    .await;
    let client = PlatformClient::new(&PlatformClientSettings::default()).unwrap();
    let call = PlatformCall {
        method: "POST",
        url: &format!("http://{address}"),
        headers: &[],
        body: b"{}".to_vec(),
        deadline: LONG,
        leave_by: Some(Instant::now()),
    };
    assert_eq!(client.call(call).await, Err(TooLate));
    assert_eq!(came.recv().await, Some(Vec::new()));
}
