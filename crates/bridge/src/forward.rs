//! Passes one request on to the provider, and its response back.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName,
    HeaderValue, RETRY_AFTER, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{Method, Request, Response, StatusCode};
use hyper::body::{Body, Incoming};
use windlass_agents::http::{ForwardClient, ForwardedBody};
use windlass_cassette::ExchangeBuilder;
use windlass_tasks::CallStatus;
use windlass_wire::{Dialect, ErrorKind, ModelError, UsageReader};

use crate::admission::{accounts, admit};
use crate::credentials;
use crate::limit_answer::{LimitAnswer, MAX_AGENT_WAIT};
use crate::meter::{Meter, MeteredCall};
use crate::metered_body::{BridgeBody, MeteredBody, nothing_reported};
use crate::recording::{CallRecorder, CallRecording};
use crate::request_facts::RequestFacts;
use crate::route::{ProviderRoute, Routes};

/// The most bytes of a request.
const MAX_REQUEST_BYTES: usize = 64 << 20;
/// The most bytes of an error response; a longer one is cut.
const MAX_ERROR_BYTES: usize = 1 << 20;
/// How long the agent may take between two parts of its request.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// Headers that are about one connection. The provider's connection has its own.
const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-authenticate"),
    HeaderName::from_static("proxy-authorization"),
    HeaderName::from_static("proxy-connection"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// Tells the libraries of providers, which agents use, not to repeat a call.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Forwarder {
    pub(crate) routes: Routes,
    pub(crate) meter: Arc<Meter>,
    pub(crate) client: ForwardClient,
    /// Takes every call, if calls are recorded.
    pub(crate) recorder: OnceLock<Arc<dyn CallRecorder>>,
}

impl Forwarder {
    pub(crate) async fn handle(&self, request: Request<Incoming>) -> Response<BridgeBody> {
        let (head, body) = request.into_parts();
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let (id, path) = split_id(path);
        let Some(route) = self.routes.get(id) else {
            let message = "this address is not valid any more: its agent has ended";
            return refusal(None, ModelError::new(ErrorKind::NotFound, message));
        };
        let Some(url) = route.url(path) else {
            let message = "the path is outside of the provider's API";
            return refusal(None, ModelError::new(ErrorKind::NotFound, message));
        };
        let body = match read_body(body).await {
            Ok(body) => body,
            Err(error) => return refusal(dialect_of(path), error),
        };
        if !credentials::substitute(&route, &mut head.headers.clone(), &mut url.clone()) {
            let message = "the request has no valid token";
            let error = ModelError::new(ErrorKind::Authentication, message);
            return refusal(dialect_of(path), error);
        }
        let recording = self.recording(&route, &head.method, path, &body);
        let request = (head.method, url, head.headers);
        let mut response = self.forward_by_account(&route, path, request, body).await;
        if let Some(mut recording) = recording {
            let (head, mut body) = response.into_parts();
            recording.start(&head);
            body.record(recording);
            response = Response::from_parts(head, body);
        }
        response
    }

    /// Starts to record a call, if calls are recorded.
    fn recording(
        &self,
        route: &ProviderRoute,
        method: &Method,
        path: &str,
        body: &[u8],
    ) -> Option<CallRecording> {
        let recorder = self.recorder.get()?;
        let dialect = dialect_of(path).map_or("", Dialect::as_str);
        let path = credentials::path_without_key(path);
        let exchange = ExchangeBuilder::new(dialect, method.as_str(), &path, body);
        let clock = self.meter.clock();
        Some(CallRecording::new(recorder, clock, &route.labels, exchange))
    }

    /// Passes a request on with the first account that need not wait. If the provider then limits it, with another one.
    async fn forward_by_account(
        &self,
        route: &ProviderRoute,
        path: &str,
        request: (Method, String, HeaderMap),
        body: Bytes,
    ) -> Response<BridgeBody> {
        let (account, others) = accounts(&self.meter, route).await;
        let forward = |account| self.forward(account, path, request.clone(), body.clone());
        let mut response = forward(account).await;
        for account in others {
            if response.extensions().get::<LimitAnswer>().is_none() {
                break;
            }
            response = forward(account).await;
        }
        response
    }

    /// Passes a request on, if it may be sent. The response has the limit as an extension, if the provider limits the account.
    async fn forward(
        &self,
        route: &ProviderRoute,
        path: &str,
        (method, mut url, mut headers): (Method, String, HeaderMap),
        body: Bytes,
    ) -> Response<BridgeBody> {
        if !credentials::substitute(route, &mut headers, &mut url) {
            let message = "the key of this account cannot be sent";
            let error = ModelError::new(ErrorKind::Authentication, message);
            return refusal(dialect_of(path), error);
        }
        let facts = RequestFacts::read(path, &body);
        remove_connection_headers(&mut headers);
        headers.remove(HOST);
        // What the provider would compress could not be read.
        headers.remove(ACCEPT_ENCODING);
        let is_counted = method == Method::POST && !is_side_call(path);
        let mut call = None;
        if is_counted {
            match admit(&self.meter, route.call_labels(), &facts, &body).await {
                Ok(admitted) => call = Some(admitted),
                Err(error) => return refusal(facts.dialect, error),
            }
        }
        let length = body.len();
        let body = self.meter.mask(body);
        if body.len() != length {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        let sent = self
            .client
            .send(route.is_local, method, &url, headers, body)
            .await;
        match sent {
            Ok(response) => self.respond(route, &facts, response, call).await,
            Err(problem) => {
                if let Some(call) = call {
                    call.settle(CallStatus::Failed, None, nothing_reported());
                }
                let account = &route.labels.account;
                let message = format!("{account} cannot be reached: {problem}");
                let error = ModelError::new(ErrorKind::Interrupted, message);
                let error = ModelError {
                    status: StatusCode::BAD_GATEWAY.as_u16(),
                    ..error
                };
                refusal(facts.dialect, error)
            }
        }
    }

    /// Returns the provider's response.
    async fn respond(
        &self,
        route: &ProviderRoute,
        facts: &RequestFacts,
        response: Response<ForwardedBody>,
        call: Option<MeteredCall>,
    ) -> Response<BridgeBody> {
        let (mut head, body) = response.into_parts();
        remove_connection_headers(&mut head.headers);
        let status = head.status.as_u16();
        if !head.status.is_success() {
            if let Some(call) = call {
                call.settle(CallStatus::Failed, Some(status), nothing_reported());
            }
            let bytes = credentials::without_keys(route, read_error(body).await);
            let answer = (status, &head.headers, bytes.as_slice());
            let meter = &self.meter;
            let limit = meter.read_limit(&route.labels, facts.dialect, answer).await;
            if let Some(limit) = limit {
                if limit.wait > MAX_AGENT_WAIT {
                    // Some agents would sleep for so long.
                    head.headers.remove(RETRY_AFTER);
                    head.headers.remove(RETRY_AFTER_MS);
                }
                head.extensions.insert(limit);
            }
            head.headers.remove(CONTENT_LENGTH);
            return Response::from_parts(head, BridgeBody::Own(Some(bytes.into())));
        }
        let text = |name: HeaderName| head.headers.get(name).and_then(|value| value.to_str().ok());
        let length = text(CONTENT_LENGTH).and_then(|length| length.parse().ok());
        let kind = text(CONTENT_TYPE).unwrap_or_default();
        let call = call.map(|call| {
            let dialect = facts.dialect.unwrap_or(Dialect::Chat);
            (call, UsageReader::new(dialect, kind))
        });
        let body = MeteredBody::new(body, status, length, call);
        Response::from_parts(head, BridgeBody::Relayed(Box::new(body)))
    }
}

/// Splits `/ID/path` into the id and the path.
fn split_id(path: &str) -> (&str, &str) {
    let rest = path.strip_prefix('/').unwrap_or(path);
    match rest.find(['/', '?']) {
        Some(end) => rest.split_at(end),
        None => (rest, ""),
    }
}

fn dialect_of(path: &str) -> Option<Dialect> {
    windlass_wire::Route::parse(path).map(|route| route.dialect)
}

/// Returns `true` for calls that use no tokens.
fn is_side_call(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    path.ends_with("/count_tokens") || path.ends_with(":countTokens")
}

/// Reads the whole request: a call must be counted before its first byte is sent.
async fn read_body(mut body: Incoming) -> Result<Bytes, ModelError> {
    let mut whole = BytesMut::new();
    loop {
        let next = poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        let frame = match tokio::time::timeout(BODY_TIMEOUT, next).await {
            Ok(None) => return Ok(whole.freeze()),
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(_))) | Err(_) => {
                let message = "the request is incomplete";
                return Err(ModelError::new(ErrorKind::InvalidRequest, message));
            }
        };
        let Some(data) = frame.data_ref() else {
            continue;
        };
        if whole.len() + data.len() > MAX_REQUEST_BYTES {
            let message = format!("the request is longer than {MAX_REQUEST_BYTES} bytes");
            return Err(ModelError::new(ErrorKind::TooLarge, message));
        }
        whole.extend_from_slice(data);
    }
}

fn remove_connection_headers(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

async fn read_error(mut body: ForwardedBody) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let data = frame.data_ref().map_or(&[][..], |data| data);
        let rest = MAX_ERROR_BYTES.saturating_sub(bytes.len());
        bytes.extend_from_slice(&data[..data.len().min(rest)]);
        if bytes.len() >= MAX_ERROR_BYTES {
            break;
        }
    }
    bytes
}

/// Returns an error of the bridge itself, in the API of the call. To send the same call again does not help.
fn refusal(dialect: Option<Dialect>, mut error: ModelError) -> Response<BridgeBody> {
    error.retry_after = error.retry_after.filter(|wait| *wait <= MAX_AGENT_WAIT);
    tracing::debug!(status = error.status, message = %error.message, "refused a model call");
    let rendered = dialect.unwrap_or(Dialect::Chat).render_error(&error);
    let (mut head, body) = rendered.into_parts();
    let json = HeaderValue::from_static("application/json");
    head.headers.entry(CONTENT_TYPE).or_insert(json);
    head.headers
        .insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    head.headers.remove(CONTENT_LENGTH);
    Response::from_parts(head, BridgeBody::Own(Some(body.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_split_behind_the_id() {
        for (path, id, rest) in [
            ("/abc/v1/models", "abc", "/v1/models"),
            ("/abc?x=1", "abc", "?x=1"),
            ("/abc", "abc", ""),
            ("/", "", ""),
            ("//v1", "", "/v1"),
        ] {
            assert_eq!(split_id(path), (id, rest));
        }
    }

    #[test]
    fn headers_of_the_connection_are_removed() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Own"),
            ("x-own", "1"),
            ("transfer-encoding", "chunked"),
            ("x-other", "1"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        remove_connection_headers(&mut headers);
        let left: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(left, ["x-other"]);
    }
}
