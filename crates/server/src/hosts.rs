//! The host names under which the server may be addressed: another page can make its own name resolve to our
//! address, but it cannot use our name.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::tls::Certificate;

/// The allowed host names of one server.
#[derive(Debug, Clone)]
pub(crate) struct AllowedHosts {
    listen: SocketAddr,
    /// Additional allowed hosts, such as that of a proxy.
    extra: Vec<String>,
    /// The certificate, if connections are encrypted. Its names are the server's own.
    certificate: Option<Arc<Certificate>>,
}

impl AllowedHosts {
    pub(crate) fn new(
        listen: SocketAddr,
        extra: &[String],
        certificate: Option<Arc<Certificate>>,
    ) -> Self {
        Self {
            listen,
            extra: extra.iter().map(|host| host.to_ascii_lowercase()).collect(),
            certificate,
        }
    }

    /// Returns `true` if the server encrypts its connections itself.
    pub(crate) fn are_encrypted(&self) -> bool {
        self.certificate.is_some()
    }

    /// Returns `true` if the `Host` header is allowed.
    pub(crate) fn allows(&self, host: &str) -> bool {
        self.is_extra(host) || self.is_own(host)
    }

    /// Returns `true` if the origin is the server's own, when it is addressed by this host.
    pub(crate) fn is_origin(&self, origin: &str, host: &str) -> bool {
        let Some((scheme, authority)) = origin.split_once("://") else {
            return false;
        };
        let scheme_allowed = match scheme {
            "https" => self.are_encrypted() || self.is_extra(host),
            // Without a certificate of the server, a proxy in front of it may have one, or not.
            "http" => !self.are_encrypted(),
            _ => false,
        };
        scheme_allowed && authority.eq_ignore_ascii_case(host)
    }

    fn is_extra(&self, host: &str) -> bool {
        self.extra
            .iter()
            .any(|allowed| host.eq_ignore_ascii_case(allowed))
    }

    fn is_own(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            // The colons of an IPv6 address in brackets are part of the address.
            Some((name, port)) if !port.ends_with(']') => (name, parse_port(port)),
            _ if self.are_encrypted() => (host, Some(443)),
            _ => (host, Some(80)),
        };
        if port != Some(self.listen.port()) {
            return false;
        }
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let bare = name
            .strip_prefix('[')
            .and_then(|inner| inner.strip_suffix(']'));
        let ip: Option<IpAddr> = match bare {
            Some(six) => six.parse().ok().filter(IpAddr::is_ipv6),
            None => name.parse().ok().filter(IpAddr::is_ipv4),
        };
        // No other site has a certificate for these names, so none of its pages can use them.
        let certificate = self.certificate.as_ref();
        if certificate.is_some_and(|certificate| certificate.covers(bare.unwrap_or(name))) {
            return true;
        }
        // A numeric address cannot be taken over by another page.
        ip.is_some_and(|ip| {
            ip.is_loopback() || ip == self.listen.ip() || self.listen.ip().is_unspecified()
        })
    }
}

/// Parses a port that consists of digits only.
fn parse_port(port: &str) -> Option<u16> {
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| port.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p22_only_own_hosts_are_allowed() {
        let check = |listen: &str, host: &str, allowed: bool| {
            let hosts =
                AllowedHosts::new(listen.parse().unwrap(), &["box.example".to_owned()], None);
            assert_eq!(hosts.allows(host), allowed, "{host} at {listen}");
        };
        for own in [
            "127.0.0.1:7420",
            "localhost:7420",
            "LOCALHOST:7420",
            "[::1]:7420",
            "box.example",
        ] {
            check("127.0.0.1:7420", own, true);
        }
        let foreign = [
            "",
            ":",
            ":7420",
            "127.0.0.1",
            "localhost",
            "127.0.0.1:7421",
            "127.0.0.1:",
            "evil:7420",
            "localhost:7420/#@evil",
            "localhost:7420@evil",
            "evil@localhost:7420",
            "localhost.:7420",
            "127.0.0.1.evil.example:7420",
            "[::1]",
            "::1:7420",
            "[127.0.0.1]:7420",
            "10.0.0.1:7420",
            "0.0.0.0:7420",
            "localhost:+7420",
            "localhost: 7420",
            "box.example:7420",
            "2130706433:7420",
        ];
        for host in foreign {
            check("127.0.0.1:7420", host, false);
        }
        check("10.0.0.1:80", "10.0.0.1", true);
        check("10.0.0.1:80", "10.0.0.2", false);
        check("0.0.0.0:7420", "10.0.0.2:7420", true);
        check("0.0.0.0:7420", "evil:7420", false);
    }

    #[test]
    fn p22_only_own_origin_is_allowed() {
        let hosts = AllowedHosts::new(
            "127.0.0.1:7420".parse().unwrap(),
            &["box.example".to_owned()],
            None,
        );
        let check = |origin: &str, host: &str, expected: bool| {
            assert_eq!(
                hosts.is_origin(origin, host),
                expected,
                "{origin} to {host}"
            );
        };
        check("http://127.0.0.1:7420", "127.0.0.1:7420", true);
        check("https://box.example", "box.example", true);
        for foreign in [
            "null",
            "",
            "http://evil",
            "http://127.0.0.1:7421",
            "https://127.0.0.1:7420",
            "http://127.0.0.1:7420/",
            "http://127.0.0.1:7420.evil",
            "http://localhost:7420",
            "file://",
        ] {
            check(foreign, "127.0.0.1:7420", false);
        }
    }
}
