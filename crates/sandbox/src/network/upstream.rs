//! The user's own proxy, through which allowed hosts are reached.

use std::ffi::OsStr;
use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::HostRule;
use super::host_rule::{HostPattern, parse_address};
use crate::host::Host;

/// The longest answer of a proxy before the tunnel.
const MAX_ANSWER_BYTES: usize = 8 << 10;

/// A proxy, and the hosts that are reached without it.
#[derive(Debug, Clone)]
pub(crate) struct Upstream {
    proxy: HostRule,
    direct: Vec<String>,
}

impl Upstream {
    /// Returns the proxy that the user's environment names, if it is one that this crate can use:
    /// without a password, and reached without encryption.
    pub(crate) fn from_host(host: &Host) -> Option<Self> {
        let variable = |names: [&str; 2]| {
            let mut values = names.iter().filter_map(|name| host.variable(name));
            values.find_map(OsStr::to_str).map(str::to_owned)
        };
        let named = variable(["HTTPS_PROXY", "https_proxy"])
            .or_else(|| variable(["ALL_PROXY", "all_proxy"]))?;
        let direct = variable(["NO_PROXY", "no_proxy"]).unwrap_or_default();
        Some(Self {
            proxy: HostRule::for_url(&named).ok()?,
            direct: direct
                .split(',')
                .map(|name| name.trim().to_ascii_lowercase())
                .filter(|name| !name.is_empty())
                .collect(),
        })
    }

    /// Returns the port of the proxy.
    pub(crate) fn port(&self) -> u16 {
        self.proxy.port
    }

    /// Returns `true` if the proxy is used for this host.
    pub(super) fn serves(&self, host: &str) -> bool {
        let is_direct = |name: &String| {
            let domain = name.trim_start_matches("*.").trim_start_matches('.');
            let below = host.strip_suffix(domain);
            name == "*" || below.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let is_local = host == "localhost" || parse_address(host).is_some();
        !is_local && !self.direct.iter().any(is_direct)
    }

    /// Opens a tunnel to a host.
    pub(super) async fn connect(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let proxy = match &self.proxy.pattern {
            HostPattern::Name(name) | HostPattern::Below(name) => name.clone(),
            HostPattern::Address(address) => address.to_string(),
        };
        let mut stream = TcpStream::connect((proxy.as_str(), self.proxy.port)).await?;
        let request = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            if answer.len() >= MAX_ANSWER_BYTES {
                return Err(io::Error::other("the proxy's answer is too long"));
            }
            // One byte at a time: what follows the answer belongs to the tunnel.
            answer.push(stream.read_u8().await?);
        }
        if answer.starts_with(b"HTTP/1.1 200") || answer.starts_with(b"HTTP/1.0 200") {
            Ok(stream)
        } else {
            Err(io::Error::other("the proxy refused the connection"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_no_proxy_are_reached_directly() {
        let host = Host::new([
            ("HTTPS_PROXY", "http://proxy.example:3128"),
            ("NO_PROXY", "direct.example, .below.example"),
        ]);
        let upstream = Upstream::from_host(&host).unwrap();
        for (host, served) in [
            ("api.example", true),
            ("direct.example", false),
            ("a.direct.example", false),
            ("indirect.example", true),
            ("a.below.example", false),
            ("localhost", false),
            ("10.0.0.1", false),
        ] {
            assert_eq!(upstream.serves(host), served, "{host}");
        }
        assert_eq!(upstream.port(), 3128);
        let with_password = Host::new([("HTTPS_PROXY", "http://me:secret@proxy:1")]);
        assert!(Upstream::from_host(&with_password).is_none());
    }
}
