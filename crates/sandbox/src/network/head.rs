//! Parses the first request of a connection to the proxy. Pure.

/// A request to the proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProxyRequest {
    pub(super) host: String,
    pub(super) port: u16,
    /// What the server gets first; `None` for a tunnel, which the client waits for.
    pub(super) forward: Option<Vec<u8>>,
}

/// Parses a request: `CONNECT host:port`, or a method with an `http` address. `head` ends with an
/// empty line.
pub(super) fn parse(head: &[u8]) -> Option<ProxyRequest> {
    let end = head.windows(2).position(|pair| pair == b"\r\n")?;
    let line = std::str::from_utf8(&head[..end]).ok()?;
    let mut parts = line.split(' ');
    let (method, target, version) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || !version.starts_with("HTTP/1.") {
        return None;
    }
    if method == "CONNECT" {
        let (host, port) = host_and_port(target, None)?;
        return Some(ProxyRequest {
            host,
            port,
            forward: None,
        });
    }
    let rest = target.strip_prefix("http://")?;
    let path_start = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, port) = host_and_port(&rest[..path_start], Some(80))?;
    let path = match &rest[path_start..] {
        path if path.starts_with('/') => path.to_owned(),
        query => format!("/{query}"),
    };
    let mut forward = format!("{method} {path} {version}").into_bytes();
    forward.extend_from_slice(&head[end..]);
    Some(ProxyRequest {
        host,
        port,
        forward: Some(forward),
    })
}

fn host_and_port(text: &str, default_port: Option<u16>) -> Option<(String, u16)> {
    let (host, port) = match text.rsplit_once(':') {
        // The colon may be part of an address in brackets.
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (text, default_port?),
    };
    let host = host.strip_prefix('[').unwrap_or(host);
    let host = host.strip_suffix(']').unwrap_or(host);
    let is_valid = !host.is_empty() && !host.contains(['@', '/']);
    is_valid.then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &str, expected: Option<(&str, u16, Option<&str>)>) {
        let parsed = parse(head.as_bytes());
        let parsed = parsed.as_ref().map(|request| {
            let forward = request.forward.as_deref();
            let forward = forward.map(|bytes| std::str::from_utf8(bytes).unwrap());
            (request.host.as_str(), request.port, forward)
        });
        assert_eq!(parsed, expected, "{head:?}");
    }

    #[test]
    fn requests_are_parsed() {
        check(
            "CONNECT a.example:443 HTTP/1.1\r\nHost: b\r\n\r\n",
            Some(("a.example", 443, None)),
        );
        check("CONNECT [::1]:80 HTTP/1.1\r\n\r\n", Some(("::1", 80, None)));
        check(
            "GET http://a.example/x?y HTTP/1.1\r\nA: b\r\n\r\n",
            Some(("a.example", 80, Some("GET /x?y HTTP/1.1\r\nA: b\r\n\r\n"))),
        );
        check(
            "POST http://a.example:81?y HTTP/1.0\r\n\r\n",
            Some(("a.example", 81, Some("POST /?y HTTP/1.0\r\n\r\n"))),
        );
    }

    #[test]
    fn invalid_requests_are_rejected() {
        for head in [
            "",
            "\r\n\r\n",
            "CONNECT a.example HTTP/1.1\r\n\r\n",
            "CONNECT a.example:x HTTP/1.1\r\n\r\n",
            "CONNECT user@a.example:443 HTTP/1.1\r\n\r\n",
            "CONNECT :443 HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "GET https://a.example/ HTTP/1.1\r\n\r\n",
            "GET http://a.example/ x HTTP/1.1\r\n\r\n",
            "GET http://a.example/ HTTP/2\r\n\r\n",
        ] {
            check(head, None);
        }
    }
}
