//! Sends requests, and retries failed ones if a retry may help.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER, USER_AGENT};
use reqwest::redirect::Policy;
use reqwest::{Method, Request, Url};
use windlass_core::{Clock, escape_line};
use windlass_wire::{Dialect, ErrorKind, ModelError};

use super::limits::{HttpLimits, idle_timeout_error};
use super::tls::client_builder;
use super::{ApiKey, BaseUrl, ResponseBody, date, retry};

/// The most bytes that are read of an error response.
const MAX_ERROR_BODY: usize = 64 << 10;
/// The most bytes of a document that describes a model or a server.
const MAX_DOCUMENT: usize = 4 << 20;
/// How long a server may take to describe itself.
const ASK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an idle connection stays in the pool.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// A client of one model API, with its key and its pool of connections.
#[derive(Clone)]
pub struct Client {
    inner: reqwest::Client,
    address: BaseUrl,
    key: ApiKey,
    limits: HttpLimits,
    clock: Arc<dyn Clock>,
    /// The first request without its body. Most others go to the same path.
    prepared: OnceLock<PreparedRequest>,
}

/// A request to one path of an API, but for its body.
#[derive(Clone)]
struct PreparedRequest {
    dialect: Dialect,
    path: String,
    url: Url,
    headers: HeaderMap,
}

impl Client {
    /// Creates a client of the API at this URL. Fails if the HTTP stack cannot be initialized.
    pub fn new(
        address: BaseUrl,
        key: ApiKey,
        limits: HttpLimits,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, String> {
        let mut builder = client_builder()
            .redirect(Policy::none())
            .referer(false)
            .connect_timeout(limits.connect)
            .pool_idle_timeout(POOL_IDLE_TIMEOUT)
            .tcp_nodelay(true);
        if address.is_local() {
            // Requests to this machine bypass proxies, whatever the environment sets.
            builder = builder.no_proxy();
        }
        let inner = builder
            .build()
            .map_err(|error| format!("cannot create an HTTP client: {}", root_cause(&error)))?;
        Ok(Self {
            inner,
            address,
            key,
            limits,
            clock,
            prepared: OnceLock::new(),
        })
    }

    /// Returns a client of the same API at another address, with another key.
    pub(crate) fn at(&self, address: BaseUrl, key: ApiKey) -> Result<Self, String> {
        Self::new(address, key, self.limits, Arc::clone(&self.clock))
    }

    /// Returns the same client, with its pool of connections, for responses that take `factor` times as long to start.
    pub(crate) fn with_longer_wait(&self, factor: u32) -> Self {
        let mut client = self.clone();
        client.limits.idle_timeout = client.limits.idle_timeout.saturating_mul(factor);
        client
    }

    /// Returns the base URL.
    pub fn address(&self) -> &BaseUrl {
        &self.address
    }

    /// Returns the API key.
    pub fn key(&self) -> &ApiKey {
        &self.key
    }

    /// Sends a POST request to this path of the API and returns the body of a successful response.
    ///
    /// A request that fails before the response starts is retried if a retry may help. A response that has started is
    /// never requested again. No error message contains the key, even if the server echoes it.
    pub async fn post(
        &self,
        dialect: Dialect,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<ResponseBody, ModelError> {
        let body = body.into();
        let mut attempts = 0;
        loop {
            let failure = match self.send_once(dialect, path, body.clone()).await {
                Ok(body) => return Ok(body),
                Err(failure) => failure,
            };
            let backoff = failure.is_retryable.then(|| {
                retry::backoff(
                    &failure.error,
                    attempts,
                    self.limits.retries,
                    fastrand::f64(),
                )
            });
            let Some(wait) = backoff.flatten() else {
                return Err(failure.error);
            };
            attempts += 1;
            let status = failure.error.status;
            tracing::info!(endpoint = %self.address, status, attempts, ?wait, "retrying the request");
            self.clock.sleep(wait).await;
        }
    }

    /// Requests a JSON document at this path of the server, once. Returns `None` if that fails for any reason.
    pub(crate) async fn ask(
        &self,
        dialect: Dialect,
        path: &str,
        body: Option<serde_json::Value>,
    ) -> Option<serde_json::Value> {
        let headers = self.headers(dialect).ok()?;
        let url = self.address.join_unversioned(path);
        let request = match body {
            Some(body) => self.inner.post(url).body(body.to_string()),
            None => self.inner.get(url),
        };
        let answer = async {
            let response = request.headers(headers).send().await.ok()?;
            if !response.status().is_success() {
                return None;
            }
            let body = ResponseBody::new(response, Arc::clone(&self.clock), self.limits);
            let body = body.read_prefix(MAX_DOCUMENT).await;
            serde_json::from_slice(&body).ok()
        };
        tokio::select! {
            answer = answer => answer,
            () = self.clock.sleep(ASK_TIMEOUT) => None,
        }
    }

    async fn send_once(
        &self,
        dialect: Dialect,
        path: &str,
        body: Bytes,
    ) -> Result<ResponseBody, SendError> {
        let prepared = self.prepare(dialect, path)?;
        let mut request = Request::new(Method::POST, prepared.url.clone());
        request.headers_mut().clone_from(&prepared.headers);
        *request.body_mut() = Some(body.into());
        let limit = self.limits.idle_timeout;
        let sent = tokio::select! {
            biased;
            sent = self.inner.execute(request) => sent,
            () = self.clock.sleep(limit) => {
                return Err(SendError::permanent(idle_timeout_error("a response", limit)));
            }
        };
        let response = sent.map_err(|error| self.connect_error(&error.without_url()))?;
        let status = response.status();
        if status.is_success() {
            return Ok(ResponseBody::new(
                response,
                Arc::clone(&self.clock),
                self.limits,
            ));
        }
        if status.is_redirection() {
            return Err(SendError::permanent(redirect_error(
                &self.address,
                response.headers(),
            )));
        }
        Err(self.status_error(dialect, response).await)
    }

    fn prepare(&self, dialect: Dialect, path: &str) -> Result<Cow<'_, PreparedRequest>, SendError> {
        let known = self.prepared.get();
        let known = known.filter(|known| known.dialect == dialect && known.path == path);
        if let Some(known) = known {
            return Ok(Cow::Borrowed(known));
        }
        let prepared = PreparedRequest {
            dialect,
            path: path.to_owned(),
            url: self.address.join(path),
            headers: self.headers(dialect)?,
        };
        let _ = self.prepared.set(prepared.clone());
        Ok(Cow::Owned(prepared))
    }

    fn headers(&self, dialect: Dialect) -> Result<HeaderMap, SendError> {
        let headers = self.key.headers(dialect).map_err(|problem| {
            SendError::permanent(ModelError::new(ErrorKind::Authentication, problem))
        });
        let mut headers = headers?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let user_agent = concat!("windlass/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(user_agent));
        Ok(headers)
    }

    /// Builds the error of a request that got no response.
    fn connect_error(&self, error: &reqwest::Error) -> SendError {
        let address = &self.address;
        let cause = root_cause(error);
        let message = if error.is_connect() {
            format!("{address} cannot be reached: {cause}")
        } else {
            format!("{address} closed the connection without a response: {cause}")
        };
        SendError {
            error: ModelError::new(ErrorKind::Interrupted, self.key.redact(message)),
            is_retryable: true,
        }
    }

    /// Builds the error of a response with an error status.
    async fn status_error(&self, dialect: Dialect, response: reqwest::Response) -> SendError {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let pairs: Vec<(&str, &str)> = headers
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
            .collect();
        let body = ResponseBody::new(response, Arc::clone(&self.clock), self.limits);
        let body = body.read_prefix(MAX_ERROR_BODY).await;
        let mut error = dialect.parse_error(status, &pairs, &body);
        error.message = self.key.redact(error.message);
        if !error.message.contains(&status.to_string()) {
            error.message += &format!(" (HTTP {status})");
        }
        if error.retry_after.is_none() {
            let date = headers
                .get(RETRY_AFTER)
                .and_then(|value| value.to_str().ok());
            error.retry_after = date.and_then(|date| date::duration_until(date, self.clock.now()));
        }
        SendError {
            error,
            is_retryable: true,
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("address", &self.address)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// An error of one attempt, and whether the request may be retried at all.
struct SendError {
    error: ModelError,
    is_retryable: bool,
}

impl SendError {
    fn permanent(error: ModelError) -> Self {
        Self {
            error,
            is_retryable: false,
        }
    }
}

fn redirect_error(address: &BaseUrl, headers: &HeaderMap) -> ModelError {
    const MAX_SHOWN: usize = 200;
    let to = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let to: String = escape_line(to.unwrap_or("an unknown location"))
        .chars()
        .take(MAX_SHOWN)
        .collect();
    let message = format!(
        "{address} redirects to {to}: redirects are not followed, to protect the key; set `endpoint` to the final URL"
    );
    ModelError::new(ErrorKind::InvalidRequest, message)
}

/// Returns the innermost error: the outer ones repeat the URL.
pub(super) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use windlass_core::{SecretString, SystemClock};

    use super::*;

    #[test]
    fn p23_request_to_another_path_or_api_has_its_own_address_and_headers() {
        let address = BaseUrl::parse("http://127.0.0.1:1/v1").unwrap();
        let key = ApiKey::new(Some(SecretString::from("canary")));
        let clock = Arc::new(SystemClock::new());
        let client = Client::new(address, key, HttpLimits::default(), clock).unwrap();
        let check = |dialect, path, url: &str, header: &str| {
            let prepared = client.prepare(dialect, path).ok().unwrap();
            assert_eq!(prepared.url.as_str(), url);
            assert!(prepared.headers.contains_key(header), "{path}");
            assert_eq!(
                prepared.headers.len(),
                client.headers(dialect).ok().unwrap().len()
            );
        };
        for _ in 0..2 {
            let chat = "/v1/chat/completions";
            check(
                Dialect::Chat,
                chat,
                "http://127.0.0.1:1/v1/chat/completions",
                "authorization",
            );
            check(
                Dialect::Chat,
                "/v1/embeddings",
                "http://127.0.0.1:1/v1/embeddings",
                "authorization",
            );
            check(
                Dialect::Messages,
                chat,
                "http://127.0.0.1:1/v1/chat/completions",
                "x-api-key",
            );
        }
    }
}
