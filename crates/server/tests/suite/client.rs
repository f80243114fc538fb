//! An HTTP client that sends arbitrary bytes: a regular client could not send the invalid requests.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    /// Returns a header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the code of an error.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

/// Sends bytes and reads until the server closes the connection or has responded with an upgrade.
pub(crate) async fn raw(addr: SocketAddr, request: &[u8]) -> Option<Response> {
    let stream = TcpStream::connect(addr).await.unwrap();
    exchange(stream, request).await
}

/// Sends bytes on a connection, and reads the response.
pub(crate) async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    request: &[u8],
) -> Option<Response> {
    // The server may respond and close before it has read everything.
    let _ = stream.write_all(request).await;
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
        if is_complete(request, &bytes) {
            break;
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Response {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    })
}

/// Returns `true` if a response is complete, although the connection stays open.
fn is_complete(request: &[u8], response: &[u8]) -> bool {
    let text = String::from_utf8_lossy(response);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length: Option<usize> = length.and_then(|length| length.parse().ok());
    let is_read = length.is_some_and(|length| body.len() >= length);
    head.starts_with("HTTP/1.1 101") || (is_read && !request.starts_with(b"HEAD"))
}

/// A request that is being built.
pub(crate) struct Request {
    text: String,
}

impl Request {
    pub(crate) fn new(method: &str, target: &str) -> Self {
        Self {
            text: format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n"),
        }
    }

    /// Creates a request for a WebSocket.
    pub(crate) fn upgrade(target: &str) -> Self {
        let text = format!(
            "GET {target} HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        );
        Self { text }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.text.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    pub(crate) fn headers(self, headers: &[(String, String)]) -> Self {
        let add = |request: Self, (name, value): &(String, String)| request.header(name, value);
        headers.iter().fold(self, add)
    }

    /// Returns the request as bytes, with a body.
    pub(crate) fn with(mut self, body: &str) -> Vec<u8> {
        if !body.is_empty() {
            self.text
                .push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        format!("{}\r\n{body}", self.text).into_bytes()
    }

    #[track_caller]
    pub(crate) fn bytes(self) -> Vec<u8> {
        self.with("")
    }
}
