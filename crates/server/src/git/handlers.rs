//! The three requests of git's protocol.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::StreamExt;
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use windlass_tasks::{Project, Scope};

use super::body::{self, BodyLimits};
use super::host::{GitHost, GitRequest, GitResponseBody, GitService, GitStep};
use super::push::{PendingPush, read_report};
use crate::access::{Caller, RouteAccess};
use crate::audit::AuditNote;
use crate::error::ApiError;
use crate::state::AppState;

/// The maximum size of what a client says that it has and wants: as much as git itself accepts.
const MAX_FETCH_BYTES: u64 = 10 << 20;
/// The maximum length of the requested version of the protocol.
const MAX_PROTOCOL: usize = 100;

/// Returns the router of the repositories.
pub(crate) fn router() -> Router<AppState> {
    let needs = RouteAccess::Needs;
    let routes = Router::new()
        // What it needs depends on the service.
        .route(
            "/{repository}/info/refs",
            RouteAccess::AnyToken.protect(get(list_refs)),
        )
        .route(
            "/{repository}/git-upload-pack",
            needs(Scope::Read).protect(post(fetch)),
        )
        .route(
            "/{repository}/git-receive-pack",
            needs(Scope::Work).protect(post(push)),
        )
        .fallback(no_such_path);
    Router::new().nest("/git", routes)
}

async fn no_such_path() -> ApiError {
    let message =
        "no such path: repositories are at /git/PROJECT.git, for git of version 1.6.6 or newer";
    ApiError::new(StatusCode::NOT_FOUND, "not_found", message)
}

#[derive(Deserialize)]
struct RefsQuery {
    service: Option<String>,
}

async fn list_refs(
    State(state): State<AppState>,
    caller: Caller,
    Path(repository): Path<String>,
    Query(query): Query<RefsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (service, scope) = match query.service.as_deref() {
        Some("git-upload-pack") => (GitService::Fetch, Scope::Read),
        Some("git-receive-pack") => (GitService::Push, Scope::Work),
        _ => return Err(no_such_path().await),
    };
    caller.require(scope)?;
    let (host, project) = find(&state, &caller, &repository).await?;
    let slot = state.git_slots.take(service).await?;
    let request = GitRequest {
        project,
        service,
        step: GitStep::ListRefs,
        protocol: protocol(&headers),
    };
    let output = host.serve(request).await?;
    Ok(stream(service, "advertisement", output, slot))
}

async fn fetch(
    State(state): State<AppState>,
    caller: Caller,
    Path(repository): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let service = GitService::Fetch;
    let (host, project) = find(&state, &caller, &repository).await?;
    let slot = state.git_slots.take(service).await?;
    let protocol = protocol(request.headers());
    let limits = BodyLimits {
        bytes: MAX_FETCH_BYTES,
        pause: state.limits.body_time,
    };
    let is_gzip = check_headers(service, request.headers())?;
    let (input, problem) = body::content(request.into_body(), is_gzip, limits);
    let request = GitRequest {
        project,
        service,
        step: GitStep::Exchange(input),
        protocol,
    };
    let output = host.serve(request).await;
    problem.check()?;
    Ok(stream(service, "result", output?, slot))
}

async fn push(
    State(state): State<AppState>,
    caller: Caller,
    note: AuditNote,
    Path(repository): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let service = GitService::Push;
    let (host, project) = find(&state, &caller, &repository).await?;
    let slot = state.git_slots.take(service).await?;
    let protocol = protocol(request.headers());
    let limits = BodyLimits {
        bytes: state.limits.push_bytes,
        pause: state.limits.body_time,
    };
    let is_gzip = check_headers(service, request.headers())?;
    let (input, problem) = body::content(request.into_body(), is_gzip, limits);
    let push = PendingPush::read(input, &problem).await?;
    let kind = content_type(service, "result");
    if push.is_empty() {
        return Ok(([(header::CONTENT_TYPE, kind)], Body::empty()).into_response());
    }
    push.note(&note);
    let may_move_all = caller.scopes.contains(&Scope::Approve);
    if !may_move_all && !push.is_of_tasks() {
        note.set_result("missing_scope");
        let refusal = push.refuse(&caller).await;
        return Ok(([(header::CONTENT_TYPE, kind)], refusal).into_response());
    }
    let (commands, input) = push.start();
    let request = GitRequest {
        project,
        service,
        step: GitStep::Exchange(input),
        protocol,
    };
    let report = match host.serve(request).await {
        Ok(output) => read_report(&commands, output, &note).await,
        Err(error) => Err(error.into()),
    };
    drop(slot);
    problem.check()?;
    Ok(([(header::CONTENT_TYPE, kind)], report?).into_response())
}

/// Returns the project of a repository, and what serves it. One that the caller cannot see does not exist.
async fn find(
    state: &AppState,
    caller: &Caller,
    repository: &str,
) -> Result<(Arc<dyn GitHost>, Project), ApiError> {
    let not_found = |message: String| ApiError::new(StatusCode::NOT_FOUND, "not_found", message);
    let Some(host) = state.git.clone() else {
        return Err(not_found(
            "this server offers no repositories: start windlass serve with --git".to_owned(),
        ));
    };
    let name = repository.strip_suffix(".git").unwrap_or(repository);
    let mut projects = state.store_for(caller).projects().await?;
    projects.retain(|project| project.name == name);
    match (projects.pop(), projects.len()) {
        (Some(project), 0) => Ok((host, project)),
        (Some(_), _) => Err(ApiError::conflict(format!(
            "several projects are named {name:?}: give them different names, with windlass project add --name"
        ))),
        (None, _) => Err(not_found(format!(
            "there is no project {name:?}, or the token does not see it"
        ))),
    }
}

/// Returns the version of the protocol that the client asks for.
fn protocol(headers: &HeaderMap) -> Option<String> {
    let value = headers.get("git-protocol")?.to_str().ok()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "=:.-_".contains(c);
    let is_valid = value.len() <= MAX_PROTOCOL && value.chars().all(is_plain);
    is_valid.then(|| value.to_owned())
}

/// Checks the type of a body, and returns `true` if it is compressed.
fn check_headers(service: GitService, headers: &HeaderMap) -> Result<bool, ApiError> {
    let unsupported =
        |message: &str| ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "encoded_body", message);
    let kind = headers.get(header::CONTENT_TYPE);
    if kind.is_none_or(|kind| kind.as_bytes() != content_type(service, "request").as_bytes()) {
        return Err(unsupported(
            "this path is for git: the content-type is another one",
        ));
    }
    match headers
        .get(header::CONTENT_ENCODING)
        .map(|value| value.as_bytes())
    {
        None | Some(b"identity") => Ok(false),
        Some(b"gzip" | b"x-gzip") => Ok(true),
        Some(_) => Err(unsupported(
            "send the body with the content-encoding gzip, or without one",
        )),
    }
}

fn content_type(service: GitService, part: &str) -> String {
    format!("application/x-{}-{part}", service.name())
}

/// Sends the output of git as it comes. The slot is free when it has ended, or when the client is gone.
fn stream(
    service: GitService,
    part: &str,
    output: GitResponseBody,
    slot: OwnedSemaphorePermit,
) -> Response {
    let output = output.inspect(move |_| {
        let _ = &slot;
    });
    let kind = content_type(service, part);
    ([(header::CONTENT_TYPE, kind)], Body::from_stream(output)).into_response()
}
