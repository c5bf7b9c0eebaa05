#![allow(clippy::unwrap_used)]

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::Proxy;

/// How long nothing has to come, where nothing may come: too short a time could only hide a fault.
const SILENCE: Duration = Duration::from_millis(200);

/// Far beyond what anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends back what it gets; ends a connection when its client has.
async fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = client.into_split();
                tokio::io::copy(&mut from, &mut to).await
            });
        }
    });
    address
}

async fn proxy() -> Proxy {
    Proxy::start(echo().await).await.unwrap()
}

async fn connect(proxy: &Proxy) -> TcpStream {
    TcpStream::connect(proxy.address()).await.unwrap()
}

async fn assert_answers(client: &mut TcpStream) {
    client.write_all(b"hello").await.unwrap();
    assert_eq!(read_some(client).await, b"hello");
}

async fn read_some(client: &mut TcpStream) -> Vec<u8> {
    let mut bytes = vec![0; 5];
    let read = timeout(PATIENCE, client.read_exact(&mut bytes)).await;
    read.unwrap().unwrap();
    bytes
}

/// Whether the other side has closed or reset it.
async fn has_ended(client: &mut TcpStream) -> bool {
    let read = timeout(PATIENCE, client.read(&mut [0; 1])).await.unwrap();
    matches!(read, Ok(0) | Err(_))
}

#[tokio::test]
async fn carries_much_both_ways_and_the_end_of_one() {
    let proxy = proxy().await;
    let (mut from, mut to) = connect(&proxy).await.into_split();
    let sent: Vec<u8> = (0..8_000_000_u32).map(|n| (n % 251) as u8).collect();
    let expected = sent.clone();
    let sending = tokio::spawn(async move {
        to.write_all(&sent).await.unwrap();
        to.shutdown().await.unwrap();
    });
    let mut received = Vec::new();
    timeout(PATIENCE, from.read_to_end(&mut received))
        .await
        .unwrap()
        .unwrap();
    assert!(received == expected, "other bytes arrived");
    sending.await.unwrap();
}

#[tokio::test]
async fn a_cut_closes_and_refuses_until_it_is_healed() {
    let proxy = proxy().await;
    let mut client = connect(&proxy).await;
    assert_answers(&mut client).await;
    for _ in 0..2 {
        proxy.cut().await.unwrap();
        assert!(has_ended(&mut client).await);
        let refused = TcpStream::connect(proxy.address()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        proxy.heal().await.unwrap();
        client = connect(&proxy).await;
        assert_answers(&mut client).await;
    }
}

#[tokio::test]
async fn what_is_sent_in_a_freeze_arrives_after_it() {
    let proxy = proxy().await;
    let mut before = connect(&proxy).await;
    assert_answers(&mut before).await;
    proxy.freeze().await.unwrap();
    let mut during = connect(&proxy).await;
    for client in [&mut before, &mut during] {
        client.write_all(b"later").await.unwrap();
        let answer = timeout(SILENCE, client.read(&mut [0; 1])).await;
        assert!(answer.is_err(), "something was carried");
    }
    proxy.heal().await.unwrap();
    for client in [&mut before, &mut during] {
        assert_eq!(read_some(client).await, b"later");
    }
}

#[tokio::test]
async fn a_freeze_holds_a_bounded_amount() {
    let proxy = proxy().await;
    proxy.freeze().await.unwrap();
    let mut client = connect(&proxy).await;
    let much = vec![0; 256 << 20];
    let sent = timeout(SILENCE, client.write_all(&much)).await;
    assert!(sent.is_err(), "all of it was taken");
}

#[tokio::test]
async fn a_delay_counts_for_each_direction() {
    let proxy = proxy().await;
    let mut client = connect(&proxy).await;
    assert_answers(&mut client).await;
    let delay = Duration::from_millis(60);
    proxy.delay(delay).await.unwrap();
    let began = Instant::now();
    assert_answers(&mut client).await;
    assert!(began.elapsed() >= delay * 2, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_server_that_is_away_ends_its_connections_only() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap().to_string();
    drop(listener);
    let proxy = Proxy::start(server).await.unwrap();
    for _ in 0..2 {
        assert!(has_ended(&mut connect(&proxy).await).await);
    }
}

#[tokio::test]
async fn ends_with_its_owner() {
    let proxy = proxy().await;
    let address = proxy.address();
    let mut client = connect(&proxy).await;
    assert_answers(&mut client).await;
    drop(proxy);
    assert!(has_ended(&mut client).await);
    let refused = TcpStream::connect(address).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn stands_in_the_servers_place_in_a_url() {
    let proxy = Proxy::start("127.0.0.1:5432").await.unwrap();
    let url = proxy.in_place("postgresql://tidings@127.0.0.1:5432/state");
    let expected = format!("postgresql://tidings@{}/state", proxy.address());
    assert_eq!(url, expected);
}
