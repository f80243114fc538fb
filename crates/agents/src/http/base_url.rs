//! Where a model API is: a base address, to which each API adds its own path.

use std::net::IpAddr;
use std::{fmt, io};

use reqwest::Url;
use tokio::net::TcpStream;

use crate::settings::check_endpoint;

/// The base address of a model API.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl {
    base: Url,
}

impl BaseUrl {
    /// Reads an address; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        check_endpoint(text)?;
        let base = Url::parse(text).map_err(|error| format!("not an address: {error}"))?;
        if base.fragment().is_some() || base.host_str().is_none_or(str::is_empty) {
            return Err("expected scheme, host and path".to_owned());
        }
        Ok(Self { base })
    }

    /// The whole address of an API's path, such as `/v1/messages`.
    ///
    /// People write a base with or without the version at its end, and some write the whole path: each is understood.
    pub fn join(&self, path: &str) -> Url {
        let base = self.base.path().trim_end_matches('/');
        let rest = match path.strip_prefix('/').and_then(|path| path.split_once('/')) {
            _ if base.ends_with(path) => "",
            Some((first, rest)) if ends_with_segment(base, first) => rest,
            _ => path.trim_start_matches('/'),
        };
        let mut url = self.base.clone();
        url.set_path(format!("{base}/{rest}").trim_end_matches('/'));
        url
    }

    /// Whether it is of this machine, so that no proxy has any business with it.
    pub fn is_local(&self) -> bool {
        let host = self.base.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            Ok(ip) => ip.is_loopback() || ip.is_unspecified(),
            Err(_) => host == "localhost" || host.ends_with(".localhost"),
        }
    }

    /// Whether anybody listens there; the error says why not.
    pub async fn check_reachable(&self) -> Result<(), String> {
        let host = self.base.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let port = self.base.port_or_known_default().unwrap_or(80);
        let opened = TcpStream::connect((bare, port)).await;
        opened.map(drop).map_err(|error| match error.kind() {
            io::ErrorKind::ConnectionRefused => "nobody listens there".to_owned(),
            _ => error.to_string(),
        })
    }
}

/// Whether the base ends with the path's first part, or with another version where that is one.
fn ends_with_segment(base: &str, first: &str) -> bool {
    let last = base.rsplit('/').next().unwrap_or_default();
    last == first || is_version(last) && is_version(first)
}

fn is_version(part: &str) -> bool {
    let mut digits = part.chars();
    digits.next() == Some('v') && digits.next().is_some_and(|c| c.is_ascii_digit())
}

/// Without the query, in which somebody may have put a key.
impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.base.clone();
        shown.set_query(None);
        f.write_str(shown.as_str().trim_end_matches('/'))
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_base_is_understood() {
        let check = |base: &str, path: &str, expected: &str| {
            let address = BaseUrl::parse(base).unwrap();
            assert_eq!(address.join(path).as_str(), expected);
        };
        let chat = "/v1/chat/completions";
        check("http://h", chat, "http://h/v1/chat/completions");
        check("http://h/", chat, "http://h/v1/chat/completions");
        check("http://h/v1", chat, "http://h/v1/chat/completions");
        check("http://h/v1/", chat, "http://h/v1/chat/completions");
        check("http://h/api/v4", chat, "http://h/api/v4/chat/completions");
        check(
            "http://h/v1/chat/completions",
            chat,
            "http://h/v1/chat/completions",
        );
        check(
            "http://h/x?a=1",
            "/v1/messages",
            "http://h/x/v1/messages?a=1",
        );
        check("http://h/api", "/api/chat", "http://h/api/chat");
        check("http://h", "/api/chat", "http://h/api/chat");
    }

    #[test]
    fn what_is_local_is_known() {
        let local = |text: &str| BaseUrl::parse(text).unwrap().is_local();
        for here in [
            "http://127.0.0.1:1",
            "http://127.9.9.9",
            "http://[::1]:1",
            "http://localhost",
            "http://a.localhost/x",
            "http://0.0.0.0:1",
        ] {
            assert!(local(here), "{here}");
        }
        for there in [
            "https://api.openai.com",
            "http://10.0.0.1",
            "http://localhost.evil.org",
        ] {
            assert!(!local(there), "{there}");
        }
    }

    #[test]
    fn p23_only_http_and_no_key_in_an_address() {
        for bad in [
            "file:///etc/passwd",
            "ftp://h",
            "http://me:key@h",
            "http://",
            "http://h#x",
            "h",
        ] {
            assert!(BaseUrl::parse(bad).is_err(), "{bad}");
        }
        let shown = BaseUrl::parse("https://h/v1?key=canary").unwrap();
        assert!(!format!("{shown} {shown:?}").contains("canary"));
    }
}
