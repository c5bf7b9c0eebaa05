//! Kafka's `ApiVersions` request, version 0, which every broker answers before anything else. The client library asks it
//! too and keeps the answer to itself.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const API_VERSIONS: i16 = 18;
const CLIENT_ID: &[u8] = b"tidings-doctor";

/// The most that an answer may have; today's have under 1 KiB.
const ANSWER_BYTES: usize = 64 * 1024;

/// The newest version of each request that the broker at `host:port` knows, by the request's number.
pub(super) async fn api_versions(address: &str, timeout: Duration) -> Result<BTreeMap<i16, i16>> {
    let asked = tokio::time::timeout(timeout, ask(address)).await;
    let answer = asked.map_err(|_| Error::from(ErrorKind::TimedOut))??;
    parse(&answer).ok_or_else(|| Error::from(ErrorKind::InvalidData))
}

async fn ask(address: &str) -> Result<Vec<u8>> {
    let mut connection = TcpStream::connect(address).await?;
    connection.write_all(&request()).await?;
    let size_bytes = usize::try_from(connection.read_i32().await?).unwrap_or(usize::MAX);
    if size_bytes > ANSWER_BYTES {
        return Err(Error::from(ErrorKind::InvalidData));
    }
    let mut answer = vec![0; size_bytes];
    connection.read_exact(&mut answer).await?;
    Ok(answer)
}

/// Size; the header: request, version, correlation id, client id; no body.
fn request() -> Vec<u8> {
    let header = [
        &API_VERSIONS.to_be_bytes()[..],
        &0_i16.to_be_bytes(),
        &1_i32.to_be_bytes(),
        &(CLIENT_ID.len() as i16).to_be_bytes(),
        CLIENT_ID,
    ]
    .concat();
    [&(header.len() as i32).to_be_bytes()[..], &header].concat()
}

/// Correlation id, error code, then a counted list of request, oldest and newest version.
fn parse(answer: &[u8]) -> Option<BTreeMap<i16, i16>> {
    let error = answer.get(4..6)?;
    let entries = answer.get(10..)?.chunks_exact(6);
    if error != [0, 0] {
        return None;
    }
    let entries = entries.filter_map(|entry| match *entry {
        [key_high, key_low, _, _, newest_high, newest_low] => Some((
            i16::from_be_bytes([key_high, key_low]),
            i16::from_be_bytes([newest_high, newest_low]),
        )),
        _ => None,
    });
    Some(entries.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_and_rubbish_is_not() {
        let answer = [
            &[0, 0, 0, 1, 0, 0, 0, 0, 0, 2][..],
            &[0, 0, 0, 3, 0, 13],
            &[0, 68, 0, 0, 0, 1],
        ]
        .concat();
        assert_eq!(parse(&answer), Some([(0, 13), (68, 1)].into()));
        for length in 0..10 {
            assert_eq!(parse(&answer[..length]), None);
        }
        let mut refused = answer;
        refused[5] = 35;
        assert_eq!(parse(&refused), None);
    }
}
