//! The names by which the console may be called.
//!
//! A page of another site that points its own name at a loopback address (DNS rebinding) is of the
//! same origin as the console in the eyes of the browser. What it cannot change is the `Host` header,
//! which carries that name. So every request must name a host of this list.

use std::net::{IpAddr, SocketAddr};

use axum::http::request::Parts;
use axum::http::{StatusCode, header};

use crate::failure::{Code, Failure};

/// Host names with their ports, in lower case.
#[derive(Debug)]
pub(crate) struct Hosts(Vec<String>);

impl Hosts {
    /// Returns the names of the loopback interface and of `bound`, and those of the user: as they are,
    /// and if they have no port, also with that of the console.
    pub(crate) fn new(bound: SocketAddr, chosen: &[String]) -> Self {
        let port = bound.port();
        let mut names = vec![
            "localhost".to_owned(),
            "127.0.0.1".to_owned(),
            "[::1]".to_owned(),
        ];
        match bound.ip() {
            ip if ip.is_unspecified() => {}
            IpAddr::V4(ip) => names.push(ip.to_string()),
            IpAddr::V6(ip) => names.push(format!("[{ip}]")),
        }
        let mut allowed: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
        if port == 80 {
            allowed.append(&mut names);
        }
        for name in chosen {
            let name = name.to_ascii_lowercase();
            if !has_port(&name) {
                allowed.push(format!("{name}:{port}"));
            }
            allowed.push(name);
        }
        Self(allowed)
    }

    /// Returns the host that a request names, if it names one, once, and the list has it.
    pub(crate) fn check<'a>(&self, request: &'a Parts) -> Result<&'a str, Failure> {
        let mut values = request.headers.get_all(header::HOST).iter();
        let host = match (values.next(), values.next()) {
            (Some(host), None) => host.to_str().unwrap_or_default(),
            _ => {
                let message = "a request names its host once";
                return Err(Failure::new(
                    StatusCode::BAD_REQUEST,
                    Code::Invalid,
                    message,
                ));
            }
        };
        let target = request
            .uri
            .authority()
            .map_or(host, |authority| authority.as_str());
        if self.allows(host) && self.allows(target) {
            Ok(host)
        } else {
            Err(Failure::forbidden(
                "the console is not known by this host name",
            ))
        }
    }

    fn allows(&self, host: &str) -> bool {
        self.0
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(host))
    }
}

fn has_port(name: &str) -> bool {
    let after_address = name.rfind(']').map_or(name, |end| &name[end..]);
    after_address.contains(':')
}

#[cfg(test)]
mod tests {
    use super::Hosts;

    fn hosts(bound: &str, chosen: &[&str]) -> Hosts {
        let chosen: Vec<String> = chosen.iter().map(|&name| name.to_owned()).collect();
        Hosts::new(bound.parse().unwrap(), &chosen)
    }

    #[test]
    fn loopback_names_are_allowed_with_the_port_only() {
        let hosts = hosts("127.0.0.1:7171", &[]);
        for allowed in [
            "localhost:7171",
            "LOCALHOST:7171",
            "127.0.0.1:7171",
            "[::1]:7171",
        ] {
            assert!(hosts.allows(allowed), "{allowed}");
        }
        for refused in [
            "",
            "localhost",
            "localhost:7172",
            "127.0.0.1",
            "evil.example:7171",
            "localhost:7171.evil.example",
            "localhost:07171",
            "127.0.0.1.nip.io:7171",
        ] {
            assert!(!hosts.allows(refused), "{refused}");
        }
    }

    #[test]
    fn the_bound_address_is_allowed_unless_it_is_every_address() {
        assert!(hosts("192.0.2.7:80", &[]).allows("192.0.2.7"));
        assert!(hosts("[2001:db8::1]:9000", &[]).allows("[2001:db8::1]:9000"));
        assert!(!hosts("0.0.0.0:9000", &[]).allows("0.0.0.0:9000"));
    }

    #[test]
    fn a_chosen_name_is_allowed_with_and_without_the_port_of_the_console() {
        let hosts = hosts(
            "0.0.0.0:9000",
            &["Pools.example", "[2001:db8::2]", "a.example:443"],
        );
        for allowed in [
            "pools.example",
            "pools.example:9000",
            "[2001:db8::2]:9000",
            "a.example:443",
        ] {
            assert!(hosts.allows(allowed), "{allowed}");
        }
        assert!(!hosts.allows("pools.example:443"));
        assert!(!hosts.allows("a.example"));
    }
}
