//! Errors of the API, with one message for the caller and one for the server's log.

use std::fmt;
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use windlass_core::{escape_json, escape_line};
use windlass_gateway::{ErrorKind, ModelError, error_response};
use windlass_tasks::StoreError;

use crate::host_ops::HostOpsError;

/// The error of a request.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: &'static str,
    /// The message for the caller.
    message: String,
    /// The message for the log only.
    internal: Option<String>,
    /// When to retry, in seconds.
    retry_after_secs: Option<u32>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            internal: None,
            retry_after_secs: None,
        }
    }

    /// Creates the error for invalid input.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// Creates the error for a request that the current state does not allow.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    /// Creates the error for a caller that may not do it.
    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "missing_scope", message)
    }

    /// Returns `true` if what the caller named does not exist.
    pub(crate) fn is_missing(&self) -> bool {
        self.status == StatusCode::NOT_FOUND
    }

    /// Creates the error for an internal failure. The caller gets only the request id.
    pub(crate) fn internal(why: impl Into<String>) -> Self {
        let message = "internal error; the server's log has the details";
        Self {
            internal: Some(why.into()),
            ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
        }
    }

    /// Adds a message that only the log may contain.
    #[must_use]
    pub(crate) fn with_cause(mut self, why: impl fmt::Display) -> Self {
        self.internal = Some(why.to_string());
        self
    }

    /// Sets the time to wait before a retry.
    #[must_use]
    pub(crate) fn with_retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_secs = Some(seconds);
        self
    }

    /// Converts a store error that was caused by the input, not by the current state.
    pub(crate) fn from_input_error(error: StoreError) -> Self {
        match error {
            StoreError::Refused(message) => Self::bad_request(message),
            error => error.into(),
        }
    }

    /// Returns the code.
    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    /// Returns the message for the caller, and logs the one for the log.
    pub(crate) fn into_message(self) -> String {
        if let Some(internal) = &self.internal {
            tracing::warn!(code = self.code, internal, "call failed");
        }
        self.message
    }

    /// Renders the error in the format that callers of this path expect.
    pub(crate) fn into_response_for(self, path: &str, id: &str) -> Response {
        if let Some(internal) = &self.internal {
            tracing::warn!(code = self.code, internal, "request failed");
        }
        let mut response = if is_model_endpoint(path) {
            error_response(path, &self.as_model_error())
        } else if is_below(path, "/git") {
            // git prints this type.
            let kind = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
            (
                self.status,
                kind,
                format!("{}\n", escape_line(&self.message)),
            )
                .into_response()
        } else {
            self.to_api_response(id)
        };
        let headers = response.headers_mut();
        if let Some(retry_after_secs) = self.retry_after_secs {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(retry_after_secs));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = if is_below(path, "/git") {
                "Basic realm=\"windlass\", charset=\"UTF-8\""
            } else {
                "Bearer"
            };
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(scheme));
        }
        response
    }

    /// Converts to an error of a model API.
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
        // Clients know a wrong token by the API's own code, such as `invalid_api_key`.
        let code = (kind != ErrorKind::Authentication).then(|| self.code.to_owned());
        ModelError {
            status: self.status.as_u16(),
            code,
            retry_after: self
                .retry_after_secs
                .map(|retry_after_secs| Duration::from_secs(retry_after_secs.into())),
            ..ModelError::new(kind, self.message.clone())
        }
    }

    fn to_api_response(&self, id: &str) -> Response {
        let error = json!({"code": self.code, "message": self.message, "id": id});
        (self.status, JsonResponse(json!({ "error": error }))).into_response()
    }
}

/// Returns `true` if the path belongs to the model APIs.
fn is_model_endpoint(path: &str) -> bool {
    let is_own_api = path == "/api/v1" || path.starts_with("/api/v1/");
    !is_own_api && ["/v1", "/api"].iter().any(|root| is_below(path, root))
}

/// Returns `true` if a path is this one or below it.
pub(crate) fn is_below(path: &str, root: &str) -> bool {
    let rest = path.strip_prefix(root);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl IntoResponse for ApiError {
    /// Stores the error in the response. It is rendered when the request id and the path are known.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<HostOpsError> for ApiError {
    fn from(error: HostOpsError) -> Self {
        match error {
            HostOpsError::Refused(why) => Self::conflict(why),
            HostOpsError::Internal(why) => Self::internal(why),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::NotFound { .. } => Self::new(StatusCode::NOT_FOUND, "not_found", message),
            StoreError::IdempotencyConflict { .. } => {
                Self::new(StatusCode::CONFLICT, "key_taken", message)
            }
            StoreError::Refused(_) | StoreError::Superseded { .. } => Self::conflict(message),
            StoreError::Full(_) => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "full",
                "the store is full: reads still work, and writes work again once there is space",
            )
            .with_cause(message),
            StoreError::Timeout { .. } => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "store_slow",
                "the store timed out: try again",
            )
            .with_cause(message)
            .with_retry_after(1),
            StoreError::Outdated(_) => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "store_unavailable",
                "the store was migrated for a newer version of this server, which has to be installed",
            )
            .with_cause(message),
            _ => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "store_unavailable",
                "the store cannot be reached: try again",
            )
            .with_cause(message)
            .with_retry_after(5),
        }
    }
}

/// The result of a request that is answered with JSON.
pub(crate) type ApiResult<T> = Result<JsonResponse<T>, ApiError>;

/// A value as JSON without control or invisible characters, so that it is safe on a terminal.
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

/// Returns the error of a request without a valid token.
pub(crate) fn unauthorized() -> ApiError {
    ApiError::new(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "the token is missing, wrong, expired or revoked: send a valid one as `Authorization: Bearer TOKEN`",
    )
}
