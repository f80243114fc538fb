//! The caller of a request, as its token describes it.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use windlass_core::Timestamp;
use windlass_tasks::{AccessToken, ProjectId, Scope};

use crate::error::{ApiError, unauthorized};

/// The name of the server's own token.
const SERVER_TOKEN: &str = "server-token";

/// What a caller sent to authenticate: the hash of its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credential {
    /// The server's own token.
    ServerToken,
    /// A token of the store.
    Token { hash: String },
    /// The cookie of a session, and the host for which it was sent.
    Session { hash: String, host: String },
}

/// The caller of a request. Only the guard creates it.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The name of its token.
    pub(crate) name: String,
    pub(crate) scopes: Vec<Scope>,
    /// The projects that it can see; `None` means all.
    pub(crate) projects: Option<Vec<ProjectId>>,
    /// When its token expires, if it does.
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) credential: Credential,
}

impl Caller {
    /// Returns the person who has the server's own token.
    pub(crate) fn owner(credential: Credential) -> Self {
        Self {
            name: SERVER_TOKEN.to_owned(),
            scopes: Scope::ALL.to_vec(),
            projects: None,
            expires_at: None,
            credential,
        }
    }

    /// Returns the caller with a token of the store.
    pub(crate) fn with_token(token: &AccessToken, credential: Credential) -> Self {
        Self {
            name: token.name.clone(),
            scopes: token.scopes.clone(),
            projects: token.projects.clone(),
            expires_at: token.expires_at,
            credential,
        }
    }

    /// Returns `true` if the caller can see a project.
    pub(crate) fn sees(&self, project: ProjectId) -> bool {
        let projects = self.projects.as_ref();
        projects.is_none_or(|projects| projects.contains(&project))
    }

    /// Returns the person who has the token. The server's own token belongs to the person who runs the server.
    pub(crate) fn person(&self) -> Option<&str> {
        (self.name != SERVER_TOKEN).then_some(self.name.as_str())
    }

    /// Returns the name under which the caller's reviews, landings and merges are stored.
    pub(crate) fn author(&self) -> &str {
        match self.name.as_str() {
            SERVER_TOKEN => "owner",
            name => name,
        }
    }

    /// Fails unless the caller has a scope.
    pub(crate) fn require(&self, scope: Scope) -> Result<(), ApiError> {
        if self.scopes.contains(&scope) {
            return Ok(());
        }
        let name = &self.name;
        Err(ApiError::forbidden(format!(
            "the token {name:?} does not have the scope {scope}, which this request needs"
        )))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let caller = parts.extensions.get::<Self>();
        caller.cloned().ok_or_else(unauthorized)
    }
}
