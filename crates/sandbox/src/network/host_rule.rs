//! One allowed host: a name, all names below a domain, or an address, with a port.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The port of a rule that names none.
const DEFAULT_PORT: u16 = 443;
/// The longest name that the domain name system has.
const MAX_NAME_BYTES: usize = 253;
/// Ends of names that no public server has.
const LOCAL_SUFFIXES: &[&str] = &[".home.arpa", ".internal", ".lan", ".local"];

/// A host and a port that a process may connect to.
///
/// It is written `host:port` or `host`, which means port 443. The host is a name, `*.` with a
/// domain for all names below that domain, or an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    pub(crate) pattern: HostPattern,
    pub(crate) port: u16,
    /// Whether the name may have an address in a private network.
    pub(crate) is_private: bool,
}

/// The hosts of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HostPattern {
    Name(String),
    /// Every name that ends with this text, which starts with a dot.
    Below(String),
    Address(IpAddr),
}

/// A host that is not written as a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\": {problem}: expected a host and a port such as api.example.com:443")]
pub struct InvalidHost {
    /// The text.
    pub text: String,
    /// The validation error.
    pub problem: &'static str,
}

impl HostRule {
    /// Returns the rule for the server of an `http` or `https` address. Its name may have an
    /// address in a private network, because the user has chosen this server.
    pub fn for_url(url: &str) -> Result<Self, InvalidHost> {
        let (rest, port) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
            (Some(rest), _) => (rest, 80),
            (None, Some(rest)) => (rest, DEFAULT_PORT),
            (None, None) => return Err(invalid(url, "is not an http address")),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let rule = parse(&rest[..end], port).map_err(|problem| invalid(url, problem))?;
        Ok(Self {
            is_private: true,
            ..rule
        })
    }

    /// Parses several rules.
    pub fn parse_all<S: AsRef<str>>(hosts: &[S]) -> Result<Vec<Self>, InvalidHost> {
        hosts.iter().map(|host| host.as_ref().parse()).collect()
    }

    /// Returns the rules for the servers of the values that are addresses, such as the one of
    /// `OPENAI_BASE_URL`.
    pub fn in_values<'a>(values: impl IntoIterator<Item = &'a String>) -> Vec<Self> {
        let rules = values.into_iter().map(|value| Self::for_url(value));
        rules.filter_map(Result::ok).collect()
    }

    /// Returns `true` if the rule allows this host, a name or an address.
    pub(crate) fn allows(&self, host: &str, port: u16) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let is_host = match &self.pattern {
            HostPattern::Name(name) => *name == host,
            HostPattern::Below(suffix) => host.len() > suffix.len() && host.ends_with(suffix),
            HostPattern::Address(address) => parse_address(&host) == Some(*address),
        };
        is_host && self.port == port
    }

    /// Returns the name of a single host.
    pub(crate) fn name(&self) -> Option<&str> {
        match &self.pattern {
            HostPattern::Name(name) => Some(name),
            _ => None,
        }
    }
}

impl FromStr for HostRule {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        parse(text, DEFAULT_PORT).map_err(|problem| invalid(text, problem))
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            HostPattern::Name(name) => write!(f, "{name}:{}", self.port),
            HostPattern::Below(suffix) => write!(f, "*{suffix}:{}", self.port),
            HostPattern::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
            HostPattern::Address(address) => write!(f, "{address}:{}", self.port),
        }
    }
}

fn invalid(text: &str, problem: &'static str) -> InvalidHost {
    InvalidHost {
        text: text.to_owned(),
        problem,
    }
}

fn parse(text: &str, default_port: u16) -> Result<HostRule, &'static str> {
    let (host, port) = split_port(text)?;
    let port = match port {
        None => default_port,
        Some(port) => port.parse().map_err(|_| "the port is not a number")?,
    };
    if port == 0 {
        return Err("the port is 0");
    }
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let pattern = if let Some(address) = parse_address(&host) {
        HostPattern::Address(address)
    } else {
        let name = host.strip_prefix("*.").unwrap_or(&host);
        check_name(name)?;
        if name == host {
            HostPattern::Name(host)
        } else {
            HostPattern::Below(format!(".{name}"))
        }
    };
    let is_private = match &pattern {
        HostPattern::Name(name) => {
            !name.contains('.') || LOCAL_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
        }
        HostPattern::Below(_) => false,
        HostPattern::Address(_) => true,
    };
    Ok(HostRule {
        pattern,
        port,
        is_private,
    })
}

/// Separates the port. Colons in an address of version 6 are inside of brackets.
fn split_port(text: &str) -> Result<(&str, Option<&str>), &'static str> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or("a bracket is missing")?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err("text follows the bracket"),
        };
    }
    match text.split_once(':') {
        Some((_, port)) if port.contains(':') => Err("an IPv6 address needs brackets"),
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((text, None)),
    }
}

/// Parses an address; one of version 4 that is written as version 6 is returned as version 4.
pub(crate) fn parse_address(host: &str) -> Option<IpAddr> {
    let host = host.strip_prefix('[').unwrap_or(host);
    let host = host.strip_suffix(']').unwrap_or(host);
    let address: IpAddr = host.parse().ok()?;
    Some(address.to_canonical())
}

fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err("the host has no valid length");
    }
    let is_label = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    if !name.split('.').all(is_label) {
        return Err("the host is not a name");
    }
    // Programs read such a host as an address, in different ways.
    let last = name.rsplit('.').next().unwrap_or_default();
    if last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x") {
        return Err("the host is not a valid address");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_parsed_and_printed() {
        for (text, printed) in [
            ("api.example.com", "api.example.com:443"),
            ("API.Example.com.:8443", "api.example.com:8443"),
            ("*.example.com:443", "*.example.com:443"),
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("[::1]:8080", "[::1]:8080"),
            ("[::ffff:10.0.0.1]:1", "10.0.0.1:1"),
        ] {
            assert_eq!(text.parse::<HostRule>().unwrap().to_string(), printed);
        }
        for (url, printed) in [
            ("http://127.0.0.1:4000/v1", "127.0.0.1:4000"),
            ("https://llm.example.com", "llm.example.com:443"),
            ("http://box?x", "box:80"),
        ] {
            assert_eq!(HostRule::for_url(url).unwrap().to_string(), printed);
        }
    }

    #[test]
    fn invalid_rules_are_rejected() {
        for text in [
            "",
            ":443",
            "a b:1",
            "*:443",
            "*.:443",
            "a..b",
            "host:0",
            "host:99999",
            "::1",
            "[::1",
            "http://host",
            "1.2.3:80",
            "127.1",
            "0x7f.0x1",
            "a/b:1",
            "user@host:1",
            "*.*.example.com",
        ] {
            assert!(text.parse::<HostRule>().is_err(), "{text}");
        }
    }

    #[test]
    fn p16_rule_allows_its_hosts_only() {
        let allows = |rule: &str, host: &str, port: u16| {
            rule.parse::<HostRule>().unwrap().allows(host, port)
        };
        assert!(allows("api.example.com:443", "API.example.com.", 443));
        assert!(!allows("api.example.com:443", "api.example.com", 80));
        assert!(!allows("api.example.com:443", "evil-api.example.com", 443));
        assert!(allows("*.example.com:443", "a.b.example.com", 443));
        assert!(!allows("*.example.com:443", "example.com", 443));
        assert!(!allows("*.example.com:443", "evilexample.com", 443));
        assert!(!allows("*.example.com:443", ".example.com", 443));
        assert!(allows("127.0.0.1:80", "::ffff:127.0.0.1", 80));
        assert!(!allows("127.0.0.1:80", "localhost", 80));
    }
}
