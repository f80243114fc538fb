//! Sends JSON to an address that a user has configured, under the rules of all requests: no redirects, and limits on
//! everything.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER, USER_AGENT};
use reqwest::redirect::Policy;
use windlass_core::{Clock as _, SystemClock};

use super::client::root_cause;
use super::tls::client_builder;
use super::{BaseUrl, date};

/// Time limit of a request to a webhook.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The part of a response that is read.
const MAX_REPLY_BYTES: usize = 64 * 1024;

/// An address to which JSON is sent by POST. No message contains it, because it may be secret.
#[derive(Clone)]
pub struct JsonPoster {
    client: reqwest::Client,
    url: BaseUrl,
    timeout: Duration,
}

impl std::fmt::Debug for JsonPoster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JsonPoster").finish_non_exhaustive()
    }
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostReply {
    /// The status.
    pub status: u16,
    /// How long to wait before the next request, if the server said so.
    pub retry_after: Option<Duration>,
    /// The beginning of the body.
    pub body: Vec<u8>,
}

impl JsonPoster {
    /// Creates the client for an address. Each request may take this long.
    pub fn new(address: &str, timeout: Duration) -> Result<Self, String> {
        let url = BaseUrl::parse(address)?;
        let mut builder = client_builder()
            .redirect(Policy::none())
            .referer(false)
            .timeout(timeout);
        if url.is_local() {
            builder = builder.no_proxy();
        }
        let client = builder
            .build()
            .map_err(|error| format!("cannot create an HTTP client: {}", root_cause(&error)))?;
        Ok(Self {
            client,
            url,
            timeout,
        })
    }

    /// Sends a request with these headers, and returns the response, whatever its status is.
    pub async fn post(
        &self,
        headers: &[(&str, String)],
        body: String,
    ) -> Result<PostReply, String> {
        let mut request = self
            .client
            .post(self.url.exact())
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, concat!("windlass/", env!("CARGO_PKG_VERSION")))
            .body(body);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let mut response = request.send().await.map_err(|error| self.failure(error))?;
        let status = response.status().as_u16();
        let retry_after = retry_after(response.headers());
        let mut body = Vec::new();
        while body.len() < MAX_REPLY_BYTES {
            let chunk = response.chunk().await;
            let Some(chunk) = chunk.map_err(|error| self.failure(error))? else {
                break;
            };
            body.extend_from_slice(&chunk);
        }
        body.truncate(MAX_REPLY_BYTES);
        Ok(PostReply {
            status,
            retry_after,
            body,
        })
    }

    fn failure(&self, error: reqwest::Error) -> String {
        let error = error.without_url();
        if error.is_timeout() {
            format!("no response within {} s", self.timeout.as_secs())
        } else {
            format!("it cannot be reached: {}", root_cause(&error))
        }
    }
}

/// Reads the header as seconds or as a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let seconds = value.parse().ok().map(Duration::from_secs);
    seconds.or_else(|| date::duration_until(value, SystemClock::new().now()))
}

/// Sends JSON to a webhook. Returns the reason if the response is not a success.
pub async fn post_json(
    address: &str,
    headers: &[(&str, String)],
    body: String,
) -> Result<(), String> {
    let reply = JsonPoster::new(address, TIMEOUT)?
        .post(headers, body)
        .await?;
    match reply.status {
        200..=299 => Ok(()),
        status => Err(format!("it answered {status}")),
    }
}
