//! Requests sent, answered or failed; failed ones sent again where that may help.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER, USER_AGENT};
use reqwest::redirect::Policy;
use windlass_core::limits::TURN_BYTES;
use windlass_core::{Clock, escape_line};
use windlass_wire::{Dialect, ErrorKind, ModelError};

use super::{ApiKey, BaseUrl, ResponseBody, date, retry};

/// How much of a failure's body is read.
const MAX_ERROR_BODY: usize = 64 << 10;
/// How long a connection that nobody uses is kept.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// How long and how much an answer may take, and how often it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// The time to reach the server.
    pub connect: Duration,
    /// The longest silence: before the answer begins, and between two pieces of it.
    pub silence: Duration,
    /// The most bytes of one answer.
    pub answer_bytes: u64,
    /// How often a request that failed is sent again.
    pub retries: u32,
}

impl Default for HttpLimits {
    /// Ten seconds to connect, two minutes of silence, as much as a turn may hold, two more tries.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(120),
            answer_bytes: TURN_BYTES,
            retries: 2,
        }
    }
}

/// A client of one model API, with its key and its pool of connections.
#[derive(Clone)]
pub struct Client {
    inner: reqwest::Client,
    address: BaseUrl,
    key: ApiKey,
    limits: HttpLimits,
    clock: Arc<dyn Clock>,
}

impl Client {
    /// A client of the API at this address. The error says why there can be none.
    pub fn new(
        address: BaseUrl,
        key: ApiKey,
        limits: HttpLimits,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, String> {
        let mut builder = reqwest::Client::builder()
            .redirect(Policy::none())
            .referer(false)
            .connect_timeout(limits.connect)
            .pool_idle_timeout(POOL_IDLE_TIMEOUT)
            .tcp_nodelay(true);
        if address.is_local() {
            // What stays on this machine is no proxy's business, whatever the environment says.
            builder = builder.no_proxy();
        }
        let inner = builder
            .build()
            .map_err(|error| format!("no HTTP client: {}", root_cause(&error)))?;
        Ok(Self {
            inner,
            address,
            key,
            limits,
            clock,
        })
    }

    /// Where it asks.
    pub fn address(&self) -> &BaseUrl {
        &self.address
    }

    /// The key it asks with.
    pub fn key(&self) -> &ApiKey {
        &self.key
    }

    /// Sends a body to this path of the API and gives the answer if it is a good one.
    ///
    /// What fails before an answer has begun is tried again as far as that may help; an answer that has begun never is.
    /// No message has the key in it, even where the server says it back.
    pub async fn post(
        &self,
        dialect: Dialect,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<ResponseBody, ModelError> {
        let body = body.into();
        let mut tried = 0;
        loop {
            let failure = match self.send_once(dialect, path, body.clone()).await {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            let again = failure.is_retried.then(|| {
                retry::backoff(&failure.error, tried, self.limits.retries, fastrand::f64())
            });
            let Some(wait) = again.flatten() else {
                return Err(failure.error);
            };
            tried += 1;
            tracing::info!(endpoint = %self.address, status = failure.error.status, tried, ?wait, "asking again");
            self.clock.sleep(wait).await;
        }
    }

    async fn send_once(
        &self,
        dialect: Dialect,
        path: &str,
        body: Bytes,
    ) -> Result<ResponseBody, SendError> {
        let headers = self.headers(dialect)?;
        let request = self
            .inner
            .post(self.address.join(path))
            .headers(headers)
            .body(body);
        let limit = self.limits.silence;
        let sent = tokio::select! {
            sent = request.send() => sent,
            () = self.clock.sleep(limit) => {
                return Err(SendError::permanent(idle_timeout_error("an answer", limit)));
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

    fn headers(&self, dialect: Dialect) -> Result<HeaderMap, SendError> {
        let headers = self.key.headers(dialect).map_err(|problem| {
            SendError::permanent(ModelError::new(ErrorKind::Authentication, problem))
        });
        let mut headers = headers?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let us = concat!("windlass/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(us));
        Ok(headers)
    }

    /// Nobody answered.
    fn connect_error(&self, error: &reqwest::Error) -> SendError {
        let address = &self.address;
        let cause = root_cause(error);
        let message = if error.is_connect() {
            format!("{address} cannot be reached: {cause}")
        } else {
            format!("{address} broke off before it answered: {cause}")
        };
        SendError {
            error: ModelError::new(ErrorKind::Interrupted, self.key.redact(message)),
            is_retried: true,
        }
    }

    /// Somebody answered with a failure.
    async fn status_error(&self, dialect: Dialect, response: reqwest::Response) -> SendError {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let pairs: Vec<(&str, &str)> = headers
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
            .collect();
        let reply = ResponseBody::new(response, Arc::clone(&self.clock), self.limits);
        let body = reply.read_prefix(MAX_ERROR_BODY).await;
        let mut error = dialect.parse_error(status, &pairs, &body);
        error.message = self.key.redact(error.message);
        if error.retry_after.is_none() {
            let date = headers
                .get(RETRY_AFTER)
                .and_then(|value| value.to_str().ok());
            error.retry_after = date.and_then(|date| date::duration_until(date, self.clock.now()));
        }
        SendError {
            error,
            is_retried: true,
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

/// A failure, and whether the request may be sent again at all.
struct SendError {
    error: ModelError,
    is_retried: bool,
}

impl SendError {
    fn permanent(error: ModelError) -> Self {
        Self {
            error,
            is_retried: false,
        }
    }
}

/// Nothing came for too long.
pub(super) fn idle_timeout_error(what: &str, after: Duration) -> ModelError {
    let seconds = after.as_secs_f64();
    let message = format!("the model was silent for {seconds} s while {what} was awaited");
    ModelError::new(ErrorKind::Timeout, message)
}

fn redirect_error(address: &BaseUrl, headers: &HeaderMap) -> ModelError {
    const SHOWN: usize = 200;
    let to = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let to: String = escape_line(to.unwrap_or("nowhere"))
        .chars()
        .take(SHOWN)
        .collect();
    let message = format!(
        "{address} redirects to {to}: a key is not sent on, so set `endpoint` to where the API really is"
    );
    ModelError::new(ErrorKind::InvalidRequest, message)
}

/// The innermost reason: the outer ones repeat the address.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
