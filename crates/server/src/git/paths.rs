//! The paths of the repositories, for the code that every request passes.

use axum::http::{HeaderMap, Method, header};

use crate::error::is_below;

/// Returns `true` if a path belongs to the repositories.
pub(crate) fn is_git(path: &str) -> bool {
    is_below(path, "/git")
}

/// Returns `true` if a path is that of a push.
pub(crate) fn is_push(path: &str) -> bool {
    is_git(path) && path.ends_with("/git-receive-pack")
}

/// Returns `true` if a request is the first one of a git client, which has no token: the client asks how to authenticate.
pub(crate) fn is_challenge(method: &Method, path: &str, headers: &HeaderMap) -> bool {
    method == Method::GET && is_git(path) && !headers.contains_key(header::AUTHORIZATION)
}
