//! What a route needs. It is checked in front of the route's own handler, so that no path leads past it.

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use windlass_tasks::Scope;

use super::Caller;
use crate::error::{ApiError, unauthorized};

/// What a caller needs for a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteAccess {
    /// Nothing: the guard lets it pass without a token.
    Open,
    /// Any valid token.
    AnyToken,
    /// A token with this scope.
    Needs(Scope),
}

impl RouteAccess {
    fn check(self, caller: Option<&Caller>) -> Result<(), ApiError> {
        match (self, caller) {
            (Self::Open, _) | (Self::AnyToken, Some(_)) => Ok(()),
            (Self::Needs(scope), Some(caller)) => caller.require(scope),
            (_, None) => Err(unauthorized()),
        }
    }

    /// Puts the check in front of a handler.
    pub(crate) fn protect<S: Clone + Send + Sync + 'static>(
        self,
        handler: MethodRouter<S>,
    ) -> MethodRouter<S> {
        handler.route_layer(from_fn(move |request: Request, next: Next| {
            self.pass(request, next)
        }))
    }

    /// Passes a request on if its caller may use the route.
    pub(crate) async fn pass(self, request: Request, next: Next) -> Response {
        match self.check(request.extensions().get()) {
            Ok(()) => next.run(request).await,
            Err(error) => error.into_response(),
        }
    }
}
