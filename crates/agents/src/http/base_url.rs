//! The base URL of a model API. Each API adds its own path to it.

use std::net::IpAddr;
use std::{fmt, io};

use reqwest::Url;
use tokio::net::TcpStream;

use crate::settings::check_endpoint;

/// The base URL of a model API.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl {
    base: Url,
}

impl BaseUrl {
    /// Parses a URL and returns the validation error if it is invalid.
    pub fn parse(text: &str) -> Result<Self, String> {
        check_endpoint(text)?;
        let base = Url::parse(text).map_err(|error| format!("not a valid URL: {error}"))?;
        if base.fragment().is_some() || base.host_str().is_none_or(str::is_empty) {
            return Err("expected scheme, host and path".to_owned());
        }
        Ok(Self { base })
    }

    /// Returns the full URL of an API path such as `/v1/messages`.
    ///
    /// The base may end with the version, without it, or with the whole path: all three forms are accepted.
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

    /// Returns the full URL of a path that may be outside the version of the API, such as `/props`.
    pub(super) fn join_unversioned(&self, path: &str) -> Url {
        let has_version = path
            .trim_start_matches('/')
            .split('/')
            .next()
            .is_some_and(is_version);
        let base = self.base.path().trim_end_matches('/');
        let (before, last) = base.rsplit_once('/').unwrap_or(("", base));
        if has_version || !is_version(last) {
            return self.join(path);
        }
        let mut url = self.base.clone();
        url.set_path(&format!("{before}{path}"));
        url
    }

    /// Returns the URL as it was given.
    pub(super) fn exact(&self) -> Url {
        self.base.clone()
    }

    /// Returns scheme, host and port.
    pub fn origin(&self) -> String {
        self.base.origin().ascii_serialization()
    }

    /// Returns the host.
    pub fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// Returns the path.
    pub fn path(&self) -> &str {
        self.base.path()
    }

    /// Returns `true` if the host is this machine. Requests to it bypass proxies.
    pub fn is_local(&self) -> bool {
        let host = self.base.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            Ok(ip) => ip.is_loopback() || ip.is_unspecified(),
            Err(_) => host == "localhost" || host.ends_with(".localhost"),
        }
    }

    /// Opens a TCP connection to the host and returns the reason if that fails.
    pub async fn check_reachable(&self) -> Result<(), String> {
        let host = self.base.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let port = self.base.port_or_known_default().unwrap_or(80);
        let connected = TcpStream::connect((bare, port)).await;
        connected.map(drop).map_err(|error| match error.kind() {
            io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
            _ => error.to_string(),
        })
    }
}

/// Returns `true` if the base ends with the first segment of the path. If that segment is a version, any version
/// matches.
fn ends_with_segment(base: &str, first: &str) -> bool {
    let last = base.rsplit('/').next().unwrap_or_default();
    last == first || is_version(last) && is_version(first)
}

fn is_version(part: &str) -> bool {
    let mut digits = part.chars();
    digits.next() == Some('v') && digits.next().is_some_and(|c| c.is_ascii_digit())
}

/// Omits the query, because it may contain a key.
impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.base.clone();
        shown.set_query(None);
        f.write_str(shown.as_str().trim_end_matches('/'))
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BaseUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_accepts_base_with_or_without_version_or_path() {
        let check = |base: &str, path: &str, expected: &str| {
            let url = BaseUrl::parse(base).unwrap();
            assert_eq!(url.join(path).as_str(), expected);
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
    fn path_outside_the_version_replaces_it() {
        let check = |base: &str, path: &str, expected: &str| {
            let url = BaseUrl::parse(base).unwrap();
            assert_eq!(url.join_unversioned(path).as_str(), expected);
        };
        check("http://h/v1", "/props", "http://h/props");
        check("http://h/x/v1/", "/props", "http://h/x/props");
        check("http://h", "/props", "http://h/props");
        check("http://h/v1", "/v1/models", "http://h/v1/models");
        check("http://h", "/api/show", "http://h/api/show");
    }

    #[test]
    fn is_local_recognizes_loopback_hosts() {
        let local = |text: &str| BaseUrl::parse(text).unwrap().is_local();
        for url in [
            "http://127.0.0.1:1",
            "http://127.9.9.9",
            "http://[::1]:1",
            "http://localhost",
            "http://a.localhost/x",
            "http://0.0.0.0:1",
        ] {
            assert!(local(url), "{url}");
        }
        for url in [
            "https://api.openai.com",
            "http://10.0.0.1",
            "http://localhost.evil.org",
        ] {
            assert!(!local(url), "{url}");
        }
    }

    #[test]
    fn p23_parse_accepts_only_http_without_credentials_and_display_hides_query() {
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
