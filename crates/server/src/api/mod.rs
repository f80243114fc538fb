//! The HTTP API: one file per resource, and the table of all routes.

mod agents;
mod approvals;
mod blockers;
mod diff;
mod events;
mod extract;
mod health;
mod openapi;
mod records;
mod session;
mod tasks;
mod traces;
mod usage;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::{MethodRouter, delete, get, post};

use crate::error::ApiError;
use crate::state::AppState;
use crate::ws;

/// A route: method, path and handler.
type RouteRow = (&'static str, &'static str, MethodRouter<AppState>);

fn table() -> Vec<RouteRow> {
    vec![
        ("post", "/session", post(session::login)),
        ("delete", "/session", delete(session::logout)),
        ("get", "/health", get(health::show)),
        ("get", "/openapi.json", get(openapi::show)),
        ("get", "/projects", get(tasks::projects)),
        ("get", "/tasks", get(tasks::list)),
        ("post", "/tasks", post(tasks::add)),
        ("get", "/tasks/{id}", get(tasks::show)),
        ("post", "/tasks/{id}/cancel", post(tasks::cancel)),
        ("post", "/tasks/{id}/retry", post(tasks::retry)),
        ("post", "/tasks/{id}/merge", post(tasks::merge)),
        ("get", "/tasks/{id}/attempts", get(records::attempts)),
        ("get", "/tasks/{id}/tests", get(records::tests)),
        ("get", "/tasks/{id}/corrections", get(records::corrections)),
        ("get", "/tasks/{id}/proof", get(records::proof)),
        ("get", "/tasks/{id}/blockers", get(records::blockers)),
        // The former path of `/tasks/{id}/blockers`, kept as an alias.
        ("get", "/tasks/{id}/questions", get(records::blockers)),
        ("get", "/tasks/{id}/traces", get(traces::of_task)),
        ("get", "/tasks/{id}/events", get(events::of_task)),
        ("get", "/tasks/{id}/diff", get(diff::show)),
        ("get", "/events", get(events::all)),
        ("get", "/blockers", get(blockers::list)),
        ("post", "/blockers/{id}/answer", post(blockers::answer)),
        ("get", "/approvals", get(approvals::list)),
        ("post", "/approvals/{id}/decision", post(approvals::decide)),
        ("get", "/agents", get(agents::list)),
        ("get", "/usage", get(usage::show)),
        ("get", "/traces", get(traces::list)),
        ("get", "/traces/{id}", get(traces::show)),
        ("get", "/ws", get(ws::connect)),
    ]
}

/// Returns the router of all routes, to be mounted at `/api/v1`.
pub(crate) fn router() -> Router<AppState> {
    let mut router = Router::new();
    for (_, path, handler) in table() {
        router = router.route(path, handler);
    }
    router
        .fallback(async || {
            let message = "not found; GET /api/v1/openapi.json lists all paths";
            ApiError::new(StatusCode::NOT_FOUND, "not_found", message)
        })
        .method_not_allowed_fallback(async || {
            let message =
                "method not allowed; GET /api/v1/openapi.json lists the methods of each path";
            ApiError::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                message,
            )
        })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn openapi_document_matches_the_routes() {
        let document: serde_json::Value = serde_json::from_str(openapi::DOCUMENT).unwrap();
        let mut described = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                described.insert(format!("{method} {path}"));
            }
        }
        let routes = table().into_iter();
        let routes: BTreeSet<String> = routes
            .map(|(method, path, _)| format!("{method} {path}"))
            .collect();
        assert_eq!(routes, described);
    }
}
