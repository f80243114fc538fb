//! The HTTP API: one file per resource, and the table of all routes.

mod agents;
mod approvals;
mod audit;
mod blockers;
mod diff;
mod evaluations;
mod events;
mod extract;
mod health;
mod landing;
mod messages;
mod model_calls;
mod openapi;
mod records;
mod reviews;
pub(crate) mod schema;
mod session;
mod steering;
mod tasks;
mod tokens;
mod traces;
mod usage;
mod workers;

pub(crate) use schema::Error;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::{MethodRouter, delete, get, patch, post, put};
use windlass_tasks::Scope;

use crate::access::RouteAccess;
use crate::error::ApiError;
use crate::state::AppState;
use crate::ws;

/// A route: method, path, what it needs, and handler.
type RouteRow = (
    &'static str,
    &'static str,
    RouteAccess,
    MethodRouter<AppState>,
);

const OPEN: RouteAccess = RouteAccess::Open;
const ANY: RouteAccess = RouteAccess::AnyToken;
const READ: RouteAccess = RouteAccess::Needs(Scope::Read);
const WORK: RouteAccess = RouteAccess::Needs(Scope::Work);
const APPROVE: RouteAccess = RouteAccess::Needs(Scope::Approve);
const ADMIN: RouteAccess = RouteAccess::Needs(Scope::Admin);

fn table() -> Vec<RouteRow> {
    [general_routes(), task_routes()].concat()
}

fn general_routes() -> Vec<RouteRow> {
    vec![
        ("post", "/session", OPEN, post(session::login)),
        ("get", "/session", ANY, get(session::show)),
        ("delete", "/session", ANY, delete(session::logout)),
        ("get", "/health", READ, get(health::show)),
        ("get", "/openapi.json", ANY, get(openapi::show)),
        ("get", "/projects", READ, get(tasks::projects)),
        ("get", "/projects/{id}/note", READ, get(steering::note)),
        ("put", "/projects/{id}/note", WORK, put(steering::set_note)),
        ("get", "/worker", READ, get(steering::workers)),
        (
            "post",
            "/worker/pause",
            APPROVE,
            post(steering::pause_workers),
        ),
        (
            "post",
            "/worker/resume",
            APPROVE,
            post(steering::resume_workers),
        ),
        ("get", "/workers", READ, get(workers::list)),
        ("post", "/workers/{id}/drain", ADMIN, post(workers::drain)),
        ("get", "/landings", READ, get(landing::list)),
        ("get", "/schedules", READ, get(messages::schedules)),
        ("get", "/events", READ, get(events::all)),
        ("get", "/blockers", READ, get(blockers::list)),
        (
            "post",
            "/blockers/{id}/answer",
            APPROVE,
            post(blockers::answer),
        ),
        ("get", "/approvals", READ, get(approvals::list)),
        (
            "post",
            "/approvals/{id}/decision",
            APPROVE,
            post(approvals::decide),
        ),
        ("get", "/agents", READ, get(agents::list)),
        ("get", "/usage", READ, get(usage::show)),
        ("get", "/usage/calls", READ, get(model_calls::usage)),
        ("get", "/evaluations", READ, get(evaluations::list)),
        ("get", "/traces", READ, get(traces::list)),
        ("get", "/traces/{id}", READ, get(traces::show)),
        ("get", "/tokens", ADMIN, get(tokens::list)),
        ("post", "/tokens", ADMIN, post(tokens::add)),
        ("delete", "/tokens/{id}", ADMIN, delete(tokens::revoke)),
        ("get", "/audit", ADMIN, get(audit::list)),
        ("get", "/ws", READ, get(ws::connect)),
    ]
}

fn task_routes() -> Vec<RouteRow> {
    vec![
        ("get", "/tasks", READ, get(tasks::list)),
        ("post", "/tasks", WORK, post(tasks::add)),
        ("post", "/tasks/bulk", WORK, post(steering::bulk)),
        ("get", "/tasks/{id}", READ, get(tasks::show)),
        ("patch", "/tasks/{id}", WORK, patch(steering::edit)),
        ("post", "/tasks/{id}/pause", WORK, post(steering::pause)),
        ("post", "/tasks/{id}/resume", WORK, post(steering::resume)),
        ("post", "/tasks/{id}/cancel", APPROVE, post(tasks::cancel)),
        ("post", "/tasks/{id}/retry", WORK, post(tasks::retry)),
        ("post", "/tasks/{id}/accept", APPROVE, post(tasks::accept)),
        ("post", "/tasks/{id}/merge", APPROVE, post(tasks::merge)),
        ("post", "/tasks/{id}/land", APPROVE, post(landing::add)),
        ("delete", "/tasks/{id}/land", WORK, delete(landing::remove)),
        ("get", "/tasks/{id}/messages", READ, get(messages::list)),
        ("post", "/tasks/{id}/messages", WORK, post(messages::send)),
        ("get", "/tasks/{id}/attempts", READ, get(records::attempts)),
        ("get", "/tasks/{id}/tests", READ, get(records::tests)),
        (
            "get",
            "/tasks/{id}/corrections",
            READ,
            get(records::corrections),
        ),
        ("get", "/tasks/{id}/proof", READ, get(records::proof)),
        ("get", "/tasks/{id}/reviews", READ, get(reviews::list)),
        // What it needs depends on the decision.
        ("post", "/tasks/{id}/reviews", ANY, post(reviews::add)),
        ("get", "/tasks/{id}/pushes", READ, get(records::pushes)),
        ("post", "/tasks/{id}/push", APPROVE, post(records::push)),
        (
            "get",
            "/tasks/{id}/candidates",
            READ,
            get(records::candidates),
        ),
        ("get", "/tasks/{id}/blockers", READ, get(records::blockers)),
        // The former path of `/tasks/{id}/blockers`, still an alias.
        ("get", "/tasks/{id}/questions", READ, get(records::blockers)),
        ("get", "/tasks/{id}/traces", READ, get(traces::of_task)),
        ("get", "/tasks/{id}/events", READ, get(events::of_task)),
        ("get", "/tasks/{id}/diff", READ, get(diff::show)),
    ]
}

/// Returns the router of all routes, to be mounted at `/api/v1`.
pub(crate) fn router() -> Router<AppState> {
    let mut router = Router::new();
    for (_, path, access, handler) in table() {
        router = router.route(path, access.protect(handler));
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
        let document = openapi::document();
        let mut described = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                described.insert(format!("{method} {path}"));
            }
        }
        let routes = table().into_iter();
        let routes: BTreeSet<String> = routes
            .map(|(method, path, ..)| format!("{method} {path}"))
            .collect();
        assert_eq!(routes, described);
        // An attribute cannot name a constant.
        let limit = "/components/schemas/NewTask/properties/max_attempts/maximum";
        let limit = document.pointer(limit).unwrap();
        assert_eq!(*limit, windlass_tasks::ATTEMPT_LIMIT);
    }
}
