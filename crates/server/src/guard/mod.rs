//! The guard: every request is checked here before any other code handles it.
//!
//! Only the probes of load balancers pass without a check: they reveal nothing.
//! It checks the host, then the origin, then the token, then the size. Loopback is not an exception: any page in
//! any browser on this machine can reach it. What the token allows is checked in front of each handler
//! ([`RouteAccess`](crate::access::RouteAccess)).

mod response;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use windlass_gateway::ApiCaller;

use crate::access::Caller;
use crate::audit::AuditNote;
use crate::connections::ConnectionSlot;
use crate::error::{ApiError, is_below, unauthorized};
use crate::git::is_git;
use crate::metrics::is_probe;
use crate::state::AppState;

/// The maximum size of a body before the client is authenticated.
const MAX_UNAUTHENTICATED_BODY: usize = 4 << 10;

/// The supported methods.
const METHODS: [Method; 6] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
];

/// All handlers, behind the guard. It is no layer of axum, which would put each request into further boxes.
#[derive(Debug, Clone)]
pub(crate) struct GuardedRouter {
    state: AppState,
    router: TowerToHyperService<Router>,
}

impl GuardedRouter {
    pub(crate) fn new(state: AppState, router: Router) -> Self {
        let router = TowerToHyperService::new(router);
        Self { state, router }
    }

    /// Passes a request on, with its body read, or rejects it.
    async fn handle(&self, request: Request) -> Response {
        match check_request(&self.state, request).await {
            Ok(request) => match self.router.call(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
            Err(error) => error.into_response(),
        }
    }
}

async fn check_request(state: &AppState, request: Request) -> Result<Request, ApiError> {
    let is_probe = is_probe(request.uri().path());
    if is_probe && matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(request);
    }
    let (mut parts, body) = request.into_parts();
    let headers = &parts.headers;
    let host = host(state, &parts.uri, headers)?;
    origin(state, headers, &host)?;
    if !METHODS.contains(&parts.method) {
        // This includes preflight requests: only the own origin is allowed, so there is nothing to negotiate.
        return Err(ApiError::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "this method is not supported",
        ));
    }
    let open = is_open(&parts.method, parts.uri.path());
    if !open {
        let caller = if is_git(parts.uri.path()) {
            authenticate_git(state, headers).await?
        } else {
            authenticate(state, headers, &host).await?
        };
        if let Some(slot) = parts.extensions.get::<ConnectionSlot>() {
            slot.authenticate()?;
        }
        if let Some(note) = parts.extensions.get::<AuditNote>() {
            note.set_actor(caller.author());
        }
        // Its model calls count for the person who has the token.
        if let Some(person) = caller.person() {
            parts.extensions.insert(ApiCaller(person.to_owned()));
        }
        parts.extensions.insert(caller);
    }
    if is_git(parts.uri.path()) {
        // Its handlers limit the body, which may be large.
        remove_secrets(&mut parts.headers);
        return Ok(Request::from_parts(parts, body));
    }
    if parts.headers.contains_key(header::CONTENT_ENCODING) {
        return Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "encoded_body",
            "send the body without a content-encoding",
        ));
    }
    if parts.method == Method::GET || parts.method == Method::HEAD {
        // An upgrade takes over the connection, so the request stays unchanged.
        return Ok(Request::from_parts(parts, body));
    }
    let max_bytes = if open {
        MAX_UNAUTHENTICATED_BODY
    } else {
        state.limits.body_bytes
    };
    let bytes = read(state, &parts.headers, body, max_bytes).await?;
    remove_secrets(&mut parts.headers);
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

/// Removes all secrets: from here on, no header of the request contains one.
fn remove_secrets(headers: &mut HeaderMap) {
    for secret in [header::AUTHORIZATION, header::COOKIE, X_API_KEY] {
        headers.remove(secret);
    }
}

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Returns the `Host` of a request if there is exactly one and it is allowed. A request line with another
/// host is rejected too.
fn host(state: &AppState, uri: &axum::http::Uri, headers: &HeaderMap) -> Result<String, ApiError> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok(),
        _ => None,
    };
    let host = host.filter(|host| state.hosts.allows(host));
    let host = host.filter(|host| {
        uri.authority()
            .is_none_or(|authority| authority.as_str().eq_ignore_ascii_case(host))
    });
    host.map(str::to_owned).ok_or_else(|| {
        ApiError::new(
            StatusCode::FORBIDDEN,
            "foreign_host",
            "unknown host: use the address that the server printed, or start it with --allow-host",
        )
    })
}

/// Rejects requests from pages of other origins.
fn origin(state: &AppState, headers: &HeaderMap, host: &str) -> Result<(), ApiError> {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let is_own = match (origins.next(), origins.next()) {
        (None, _) => true,
        (Some(origin), None) => origin
            .to_str()
            .is_ok_and(|origin| state.hosts.is_origin(origin, host)),
        _ => false,
    };
    if is_own {
        Ok(())
    } else {
        Err(foreign_origin())
    }
}

/// Returns `true` for what needs no token: the dashboard's files, which contain no data, and the login.
fn is_open(method: &Method, path: &str) -> bool {
    let reads = method == Method::GET || method == Method::HEAD;
    let is_login = method == Method::POST && path == "/api/v1/session";
    let roots = ["/api", "/v1", "/mcp", "/metrics", "/git"];
    let is_api = roots.iter().any(|root| is_below(path, root));
    is_login || (reads && !is_api)
}

/// Returns the token in a header. In a URL it would be visible in logs and histories.
fn token(headers: &HeaderMap) -> Option<&str> {
    if let Some(key) = headers.get(X_API_KEY) {
        return key.to_str().ok();
    }
    let (scheme, token) = headers
        .get(header::AUTHORIZATION)?
        .to_str()
        .ok()?
        .split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Returns the token that git sends as the password of any user.
fn password(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = STANDARD.decode(encoded.trim()).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    decoded
        .split_once(':')
        .map(|(_, password)| password.to_owned())
}

/// Returns the caller of a request to a repository. Cookies do not count: no page uses these paths.
async fn authenticate_git(state: &AppState, headers: &HeaderMap) -> Result<Caller, ApiError> {
    let given = match token(headers) {
        Some(token) => Some(token.to_owned()),
        None => password(headers),
    };
    let caller = match given {
        Some(given) => state.authenticator.by_token(&given).await?,
        None => None,
    };
    caller.ok_or_else(|| {
        ApiError::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "the token is missing, wrong, expired or revoked: send a valid one as the password of any user",
        )
    })
}

/// Returns the caller of a request.
async fn authenticate(
    state: &AppState,
    headers: &HeaderMap,
    host: &str,
) -> Result<Caller, ApiError> {
    if let Some(given) = token(headers)
        && let Some(caller) = state.authenticator.by_token(given).await?
    {
        return Ok(caller);
    }
    let name = cookie_name(host);
    for (_, value) in cookies(headers).filter(|(found, _)| *found == name) {
        if let Some(caller) = state.authenticator.by_cookie(value, host).await? {
            check_site(headers)?;
            return Ok(caller);
        }
    }
    Err(unauthorized())
}

/// Returns the name of the cookie for a host. It has the port, because browsers send cookies to all ports of a
/// host: servers on two ports must not overwrite each other's cookie.
pub(crate) fn cookie_name(host: &str) -> String {
    let port = host.rsplit_once(':').map(|(_, port)| port);
    let port = port.filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    format!("windlass-{}", port.unwrap_or("default"))
}

/// Rejects a cookie that the page of another site made the browser send. For a browser, another port of this
/// machine is the same site.
fn check_site(headers: &HeaderMap) -> Result<(), ApiError> {
    match headers.get("sec-fetch-site") {
        Some(site) if site != "same-origin" && site != "none" => Err(foreign_origin()),
        _ => Ok(()),
    }
}

fn foreign_origin() -> ApiError {
    ApiError::new(
        StatusCode::FORBIDDEN,
        "foreign_origin",
        "requests from other origins are rejected",
    )
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let values = headers.get_all(header::COOKIE).iter();
    let pairs = values.filter_map(|value| value.to_str().ok());
    pairs
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
}

/// Reads a body within its limits of size and time.
async fn read(
    state: &AppState,
    headers: &HeaderMap,
    body: Body,
    max_bytes: usize,
) -> Result<Bytes, ApiError> {
    let too_large = || {
        let message = format!("the body is larger than {max_bytes} bytes");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    };
    let length = headers.get(header::CONTENT_LENGTH);
    let length: Option<usize> = length.and_then(|length| length.to_str().ok()?.parse().ok());
    if length.is_some_and(|length| length > max_bytes) {
        return Err(too_large());
    }
    let reading = axum::body::to_bytes(body, max_bytes);
    match tokio::time::timeout(state.limits.body_time, reading).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_too_long(&error) => Err(too_large()),
        Ok(Err(error)) => Err(ApiError::new(
            StatusCode::BAD_REQUEST,
            "broken_body",
            "the body is incomplete",
        )
        .with_cause(error)),
        Err(_) => Err(ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            "slow_body",
            "timed out while reading the body",
        )),
    }
}

fn is_too_long(error: &axum::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        if error.to_string().contains("length limit exceeded") {
            return true;
        }
        cause = error.source();
    }
    false
}
