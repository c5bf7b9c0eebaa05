//! Free loopback ports.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

use crate::error::StackError;

/// Ports below this one are left to services that have theirs by convention.
const LOWEST: u16 = 10_000;
/// With fewer ports than this below the ephemeral range, the system chooses.
const ENOUGH: usize = 1_000;
const ATTEMPTS: usize = 100;

/// Ports that are held until the servers that will use them start.
pub(crate) struct Reservation(Vec<TcpListener>);

impl Reservation {
    /// Holds `count` free ports.
    pub(crate) fn new(count: usize) -> Result<Self, StackError> {
        let range = range_below_ephemeral();
        (0..count)
            .map(|_| free_port(&range))
            .collect::<io::Result<_>>()
            .map(Self)
            .map_err(StackError::NoPort)
    }

    /// Holds exactly these ports, or `None` if one is taken.
    pub(crate) fn of(ports: &[u16]) -> Option<Self> {
        ports
            .iter()
            .map(|port| bind(*port).ok())
            .collect::<Option<_>>()
            .map(Self)
    }

    /// The numbers of the ports.
    pub(crate) fn ports(&self) -> Result<Vec<u16>, StackError> {
        let port = |listener: &TcpListener| listener.local_addr().map(|address| address.port());
        self.0
            .iter()
            .map(port)
            .collect::<io::Result<_>>()
            .map_err(StackError::NoPort)
    }
}

fn bind(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
}

/// Outside the range from which outgoing connections get their ports: while a server is down, one of those could take
/// its port, even a client that tries to reach that server and so connects to itself.
fn free_port(range: &Range<u16>) -> io::Result<TcpListener> {
    if range.len() < ENOUGH {
        return bind(0);
    }
    (0..ATTEMPTS)
        .find_map(|_| bind(rand::random_range(range.clone())).ok())
        .map_or_else(|| bind(0), Ok)
}

fn range_below_ephemeral() -> Range<u16> {
    let setting = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let lowest_ephemeral = setting
        .split_whitespace()
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(LOWEST);
    LOWEST..lowest_ephemeral
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_ports_are_taken_and_then_free() {
        let held = Reservation::new(3).unwrap();
        let ports = held.ports().unwrap();
        assert!(Reservation::of(&ports).is_none());
        drop(held);
        assert_eq!(Reservation::of(&ports).unwrap().ports().unwrap(), ports);
    }
}
