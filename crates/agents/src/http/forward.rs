//! Sends requests as they are, under the rules of all requests: no redirects, and limits on every wait.

use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Body, Method, Request, Url};

use super::client::root_cause;
use super::tls::client_builder;

/// The connect timeout.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// How long the server may send nothing.
const IDLE_TIMEOUT: Duration = Duration::from_secs(900);
/// How long an idle connection stays in the pool.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The body of a response that is passed on.
pub type ForwardedBody = Body;

/// A client that adds nothing to a request and reads nothing of a response. Its connections are made on first use.
#[derive(Debug, Default)]
pub struct ForwardClient {
    /// For this machine, which is reached without the proxies of the environment.
    local: OnceLock<reqwest::Client>,
    remote: OnceLock<reqwest::Client>,
}

impl ForwardClient {
    /// Sends a request and returns the response, whatever its status. The error has no address.
    pub async fn send(
        &self,
        is_local: bool,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<http::Response<ForwardedBody>, String> {
        let url = Url::parse(url).map_err(|_| "the address is not valid".to_owned())?;
        let mut request = Request::new(method, url);
        *request.headers_mut() = headers;
        if !body.is_empty() {
            *request.body_mut() = Some(body.into());
        }
        let response = self.client(is_local)?.execute(request).await;
        let response = response.map_err(|error| root_cause(&error.without_url()))?;
        Ok(response.into())
    }

    fn client(&self, is_local: bool) -> Result<&reqwest::Client, String> {
        let slot = if is_local { &self.local } else { &self.remote };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let mut builder = client_builder()
            .redirect(Policy::none())
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(IDLE_TIMEOUT)
            .pool_idle_timeout(POOL_IDLE_TIMEOUT)
            .tcp_nodelay(true);
        if is_local {
            builder = builder.no_proxy();
        }
        let client = builder
            .build()
            .map_err(|error| format!("cannot create an HTTP client: {}", root_cause(&error)))?;
        Ok(slot.get_or_init(|| client))
    }
}
