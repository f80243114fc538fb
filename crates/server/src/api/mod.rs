//! The API: one file for each thing that can be asked about, and one table of all questions.

mod agents;
mod approvals;
mod asked;
mod blockers;
mod diff;
mod events;
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

use crate::error::Refusal;
use crate::shared::Shared;
use crate::ws;

/// A question: its method, its path, and who answers.
struct Route(&'static str, &'static str, MethodRouter<Shared>);

fn table() -> Vec<Route> {
    vec![
        Route("post", "/session", post(session::open)),
        Route("delete", "/session", delete(session::close)),
        Route("get", "/health", get(health::show)),
        Route("get", "/openapi.json", get(openapi::show)),
        Route("get", "/projects", get(tasks::projects)),
        Route("get", "/tasks", get(tasks::list)),
        Route("post", "/tasks", post(tasks::add)),
        Route("get", "/tasks/{id}", get(tasks::show)),
        Route("post", "/tasks/{id}/cancel", post(tasks::cancel)),
        Route("post", "/tasks/{id}/retry", post(tasks::retry)),
        Route("post", "/tasks/{id}/merge", post(tasks::merge)),
        Route("get", "/tasks/{id}/attempts", get(records::attempts)),
        Route("get", "/tasks/{id}/tests", get(records::tests)),
        Route("get", "/tasks/{id}/corrections", get(records::corrections)),
        Route("get", "/tasks/{id}/proof", get(records::proof)),
        Route("get", "/tasks/{id}/questions", get(records::questions)),
        Route("get", "/tasks/{id}/traces", get(traces::of_task)),
        Route("get", "/tasks/{id}/events", get(events::of_task)),
        Route("get", "/tasks/{id}/diff", get(diff::show)),
        Route("get", "/events", get(events::all)),
        Route("get", "/blockers", get(blockers::list)),
        Route("post", "/blockers/{id}/answer", post(blockers::answer)),
        Route("get", "/approvals", get(approvals::list)),
        Route("post", "/approvals/{id}/decision", post(approvals::decide)),
        Route("get", "/agents", get(agents::list)),
        Route("get", "/usage", get(usage::show)),
        Route("get", "/traces", get(traces::list)),
        Route("get", "/traces/{id}", get(traces::show)),
        Route("get", "/ws", get(ws::connect)),
    ]
}

/// All of it, below `/api/v1`.
pub(crate) fn router() -> Router<Shared> {
    let mut router = Router::new();
    for Route(_, path, answer) in table() {
        router = router.route(path, answer);
    }
    router
        .fallback(async || {
            let message = "there is nothing here; GET /api/v1/openapi.json lists what there is";
            Refusal::new(StatusCode::NOT_FOUND, "not_found", message)
        })
        .method_not_allowed_fallback(async || {
            let message = "this path has other methods; GET /api/v1/openapi.json lists them";
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
        })
}
