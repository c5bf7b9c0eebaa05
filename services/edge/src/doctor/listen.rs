//! Who may reach `/metrics`: they tell much about a business.

use std::net::{IpAddr, SocketAddr};

use super::Finding;

const CHECK: &str = "http";

pub(super) fn judge(listen: SocketAddr) -> Vec<Finding> {
    let finding = match reach(listen.ip()) {
        Reach::Machine => Finding::ok(CHECK, format!("{listen}, this machine only")),
        Reach::Network => Finding::ok(CHECK, format!("{listen}, a private network")),
        Reach::Everywhere => Finding::warning(
            CHECK,
            "http.listen",
            format!(
                "{listen}: /health and /metrics answer on every network of this machine, without authentication"
            ),
            "listen on 127.0.0.1 or on a private address, or make sure that a firewall or network policy closes the port",
        ),
    };
    vec![finding]
}

enum Reach {
    Machine,
    Network,
    Everywhere,
}

fn reach(ip: IpAddr) -> Reach {
    let private = match ip {
        IpAddr::V4(ip) => ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_unicast_link_local(),
    };
    match (ip.is_loopback(), private) {
        (true, _) => Reach::Machine,
        (false, true) => Reach::Network,
        (false, false) => Reach::Everywhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Health;

    #[test]
    fn an_address_that_everybody_reaches_is_a_warning() {
        for (listen, health) in [
            ("127.0.0.1:9100", Health::Ok),
            ("10.0.0.7:9100", Health::Ok),
            ("[fd00::1]:9100", Health::Ok),
            ("0.0.0.0:9100", Health::Warning),
            ("[::]:9100", Health::Warning),
            ("8.8.8.8:9100", Health::Warning),
        ] {
            assert_eq!(judge(listen.parse().unwrap())[0].health, health, "{listen}");
        }
    }
}
