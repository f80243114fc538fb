//! Requests sent with curl.

use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;

/// A response as received by curl.
#[derive(Debug)]
pub(crate) struct CurlResponse {
    /// Curl's exit code: 0, or 18 for an incomplete transfer, 28 for a timeout.
    pub(crate) exit: i32,
    /// The status, 0 if there is none.
    pub(crate) status: u16,
    /// The headers in lower case, one per line.
    pub(crate) headers: String,
    /// The body, as far as it was received.
    pub(crate) body: String,
}

impl CurlResponse {
    /// Parses the body as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Sends a request. With a `body` it is a POST.
pub(crate) async fn curl(url: &str, body: Option<&Value>, extra: &[&str]) -> CurlResponse {
    let mut command = Command::new("curl");
    // Long enough for a busy machine; tests of a server that hangs wait until it is over.
    command.args(["-sS", "-i", "--no-buffer", "--max-time", "6", url]);
    command.args(extra);
    if let Some(body) = body {
        command.args([
            "-H",
            "content-type: application/json",
            "-d",
            &body.to_string(),
        ]);
    }
    let limit = Duration::from_secs(150);
    let output = tokio::time::timeout(limit, command.output())
        .await
        .unwrap()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (headers, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = headers
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    CurlResponse {
        exit: output.status.code().unwrap(),
        status: status.unwrap_or_default(),
        headers: headers.to_ascii_lowercase(),
        body: body.to_owned(),
    }
}
