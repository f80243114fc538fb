//! Why a request is not done, in two sentences: one for the caller, and one for the log of whoever runs the server.

use std::fmt;
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use windlass_core::escape_json;
use windlass_core::task::StoreError;
use windlass_gateway::{ErrorKind, ModelError, error_response};

/// A request that is not done.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: &'static str,
    /// For the caller.
    message: String,
    /// For the log alone.
    internal: Option<String>,
    /// When to try again, in seconds.
    again: Option<u32>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            internal: None,
            again: None,
        }
    }

    /// What the caller sent does not fit.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// It does not fit the state of things.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    /// A fault of ours. The caller learns nothing but the number to ask for.
    pub(crate) fn internal(why: impl Into<String>) -> Self {
        let message = "something broke here; its id is in the server's log";
        Self {
            internal: Some(why.into()),
            ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
        }
    }

    /// The same with what only the log should know.
    #[must_use]
    pub(crate) fn with_cause(mut self, why: impl fmt::Display) -> Self {
        self.internal = Some(why.to_string());
        self
    }

    /// The same with a time to wait.
    #[must_use]
    pub(crate) fn with_retry_after(mut self, seconds: u32) -> Self {
        self.again = Some(seconds);
        self
    }

    /// What the store refused because of what it was sent, and not because of the state of things.
    pub(crate) fn from_input_error(error: StoreError) -> Self {
        match error {
            StoreError::Refused(message) => Self::bad_request(message),
            error => error.into(),
        }
    }

    /// The answer, in the words that callers of this path understand.
    pub(crate) fn into_response_for(self, path: &str, id: &str) -> Response {
        if let Some(internal) = &self.internal {
            tracing::warn!(%id, code = self.code, internal, "refused");
        }
        let mut response = if is_model_surface(path) {
            error_response(path, &self.as_model_error())
        } else {
            self.into_api_response(id)
        };
        let headers = response.headers_mut();
        if let Some(again) = self.again {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(again));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }

    /// The same as clients of models know it.
    fn as_model_error(&self) -> ModelError {
        let kind = match self.status.as_u16() {
            401 => ErrorKind::Authentication,
            403 => ErrorKind::Permission,
            404 => ErrorKind::NotFound,
            408 => ErrorKind::Timeout,
            413 => ErrorKind::TooLarge,
            503 => ErrorKind::Overloaded,
            500.. => ErrorKind::Server,
            _ => ErrorKind::InvalidRequest,
        };
        ModelError {
            status: self.status.as_u16(),
            code: Some(self.code.to_owned()),
            retry_after: self.again.map(|again| Duration::from_secs(again.into())),
            ..ModelError::new(kind, self.message.clone())
        }
    }

    fn into_api_response(&self, id: &str) -> Response {
        let error = json!({"code": self.code, "message": self.message, "id": id});
        (self.status, JsonResponse(json!({ "error": error }))).into_response()
    }
}

/// Whether clients of models ask here.
fn is_model_surface(path: &str) -> bool {
    let is_ours = path == "/api/v1" || path.starts_with("/api/v1/");
    !is_ours && ["/v1", "/api"].iter().any(|root| is_below(path, root))
}

/// Whether a path is this one, or one below it.
pub(crate) fn is_below(path: &str, root: &str) -> bool {
    let rest = path.strip_prefix(root);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl IntoResponse for ApiError {
    /// Written when its number and its path are known.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let said = error.to_string();
        match error {
            StoreError::NotFound { .. } => Self::new(StatusCode::NOT_FOUND, "not_found", said),
            StoreError::IdempotencyConflict { .. } => Self::new(StatusCode::CONFLICT, "key_taken", said),
            StoreError::Refused(_) | StoreError::Superseded { .. } => Self::conflict(said),
            StoreError::Full(_) => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "full",
                "the store has no room left: reading still works, and writing does again once there is room",
            )
            .with_cause(said),
            StoreError::Timeout { .. } => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "store_slow",
                "the store did not answer in time: try again",
            )
            .with_cause(said)
            .with_retry_after(1),
            _ => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "store_unavailable",
                "the store cannot be reached: try again",
            )
            .with_cause(said)
            .with_retry_after(5),
        }
    }
}

/// A value as JSON in which nothing hides, on a terminal either.
#[derive(Debug)]
pub(crate) struct JsonResponse<T>(pub(crate) T);

impl<T: serde::Serialize> IntoResponse for JsonResponse<T> {
    fn into_response(self) -> Response {
        match serde_json::to_string(&self.0) {
            Ok(text) => {
                let text = escape_json(&text).into_owned();
                ([(header::CONTENT_TYPE, "application/json")], text).into_response()
            }
            Err(error) => ApiError::internal(error.to_string()).into_response(),
        }
    }
}
