//! Who may come in: every request passes here before anything else looks at it.
//!
//! First the name by which we are called, then the page that calls, then the token, then the size. Loopback is no exception:
//! any page in any browser on this machine can reach it.

mod hosts;
mod response;
mod token;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

pub(crate) use hosts::AllowedHosts;
pub(crate) use response::finalize_response;
pub use token::Token;
pub(crate) use token::{cookie, hex};

use crate::error::{ApiError, is_below};
use crate::state::AppState;

/// How long a body may be before its sender has shown the token.
const MAX_UNAUTHENTICATED_BODY: usize = 4 << 10;

/// Lets a request through, with its body read, or refuses it.
pub(crate) async fn guard(
    State(shared): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    match check_request(&shared, request).await {
        Ok(request) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

async fn check_request(shared: &AppState, request: Request) -> Result<Request, ApiError> {
    let (mut parts, body) = request.into_parts();
    let headers = &parts.headers;
    let host = host(shared, &parts.uri, headers)?;
    origin(shared, headers, &host)?;
    if ![Method::GET, Method::HEAD, Method::POST, Method::DELETE].contains(&parts.method) {
        // A preflight among them: there is no origin but our own, so there is nothing to agree on.
        return Err(ApiError::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "this method is not served here",
        ));
    }
    let open = is_open(&parts.method, parts.uri.path());
    if !open {
        let knows = token(headers).is_some_and(|given| shared.token.matches(given));
        if !knows && !has_cookie(shared, headers)? {
            return Err(unauthorized());
        }
    }
    if parts.headers.contains_key(header::CONTENT_ENCODING) {
        return Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "encoded_body",
            "send the body without a content-encoding",
        ));
    }
    if parts.method == Method::GET || parts.method == Method::HEAD {
        // An upgrade takes the connection with it, so the request stays as it is.
        return Ok(Request::from_parts(parts, body));
    }
    let most = if open {
        MAX_UNAUTHENTICATED_BODY
    } else {
        shared.limits.body_bytes
    };
    let bytes = read(shared, &parts.headers, body, most).await?;
    // From now on a field of the request tells nobody who sent it.
    for secret in [header::AUTHORIZATION, header::COOKIE, X_API_KEY] {
        parts.headers.remove(secret);
    }
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The one `Host` of a request, if it is one of ours. A request line that names another one is not believed either.
fn host(shared: &AppState, uri: &axum::http::Uri, headers: &HeaderMap) -> Result<String, ApiError> {
    let mut named = headers.get_all(header::HOST).iter();
    let host = match (named.next(), named.next()) {
        (Some(host), None) => host.to_str().ok(),
        _ => None,
    };
    let host = host.filter(|host| shared.hosts.allows(host));
    let host = host.filter(|host| {
        uri.authority()
            .is_none_or(|named| named.as_str().eq_ignore_ascii_case(host))
    });
    host.map(str::to_owned).ok_or_else(|| {
        ApiError::new(
            StatusCode::FORBIDDEN,
            "foreign_host",
            "this server is not called so: use the address that it printed, or start it with --allow-host",
        )
    })
}

/// Refuses every page that is not ours.
fn origin(shared: &AppState, headers: &HeaderMap, host: &str) -> Result<(), ApiError> {
    let mut named = headers.get_all(header::ORIGIN).iter();
    let ours = match (named.next(), named.next()) {
        (None, _) => true,
        (Some(origin), None) => origin
            .to_str()
            .is_ok_and(|origin| shared.hosts.is_origin(origin, host)),
        _ => false,
    };
    if ours {
        return Ok(());
    }
    Err(ApiError::new(
        StatusCode::FORBIDDEN,
        "foreign_origin",
        "pages of other origins are not answered",
    ))
}

/// What is answered without a token: the page itself, which holds nothing, and the door.
fn is_open(method: &Method, path: &str) -> bool {
    let reads = method == Method::GET || method == Method::HEAD;
    let is_door = method == Method::POST && path == "/api/v1/session";
    let is_served = is_below(path, "/api") || is_below(path, "/v1");
    is_door || (reads && !is_served)
}

/// The token of a request, as a header; in an address it would be seen by everybody on the way.
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

/// Whether our page sent its cookie. Another port of this machine is the same site to a browser, so that must be looked at.
fn has_cookie(shared: &AppState, headers: &HeaderMap) -> Result<bool, ApiError> {
    let found = cookies(headers)
        .any(|(name, value)| name == shared.cookie_name && shared.token.matches_cookie(value));
    let site = headers.get("sec-fetch-site");
    if found && site.is_some_and(|site| site != "same-origin" && site != "none") {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "foreign_origin",
            "pages of other origins are not answered",
        ));
    }
    Ok(found)
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers.get_all(header::COOKIE).iter();
    let pairs = lines.filter_map(|line| line.to_str().ok());
    pairs
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
}

pub(crate) fn unauthorized() -> ApiError {
    ApiError::new(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "the token is missing or wrong: send it as `Authorization: Bearer TOKEN`",
    )
}

/// Reads a body within its limits of size and time.
async fn read(
    shared: &AppState,
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<Bytes, ApiError> {
    let too_large = || {
        let message = format!("the body is longer than {most} bytes");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    };
    let said = headers.get(header::CONTENT_LENGTH);
    let said: Option<usize> = said.and_then(|said| said.to_str().ok()?.parse().ok());
    if said.is_some_and(|said| said > most) {
        return Err(too_large());
    }
    let reading = axum::body::to_bytes(body, most);
    match tokio::time::timeout(shared.limits.body_time, reading).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_too_long(&error) => Err(too_large()),
        Ok(Err(error)) => Err(ApiError::new(
            StatusCode::BAD_REQUEST,
            "broken_body",
            "the body did not arrive whole",
        )
        .with_cause(error)),
        Err(_) => Err(ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            "slow_body",
            "the body took too long to arrive",
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
