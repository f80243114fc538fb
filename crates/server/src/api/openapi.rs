//! The OpenAPI document, from the types of the handlers and the table of routes.
//!
//! What is the same for all operations is added here: the scope, the errors that every request of a kind can
//! get, and that objects have no other fields.

use std::sync::LazyLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use super::schema::Error;
use super::{
    agents, approvals, audit, blockers, diff, evaluations, events, health, landing, messages,
    model_calls, records, reviews, session, steering, table, tasks, tokens, traces, usage, workers,
};
use crate::access::RouteAccess;
use crate::ws;

static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());

/// Returns this document.
#[utoipa::path(get, path = "/openapi.json", responses((status = 200, description = "Success.", body = Object)))]
pub(super) async fn show() -> Response {
    (
        [(header::CONTENT_TYPE, "application/json")],
        DOCUMENT.as_str(),
    )
        .into_response()
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Windlass",
        version = "1",
        description = "Tasks, their attempts, events, questions, permission requests, agents and traces."
    ),
    servers((url = "/api/v1")),
    components(schemas(Error)),
    paths(
        session::login,
        session::show,
        session::logout,
        health::show,
        show,
        tasks::projects,
        steering::note,
        steering::set_note,
        steering::workers,
        steering::pause_workers,
        steering::resume_workers,
        workers::list,
        workers::drain,
        tasks::list,
        tasks::add,
        steering::bulk,
        tasks::show,
        steering::edit,
        steering::pause,
        steering::resume,
        tasks::cancel,
        tasks::retry,
        tasks::accept,
        tasks::merge,
        landing::add,
        landing::remove,
        landing::list,
        messages::schedules,
        messages::list,
        messages::send,
        records::attempts,
        records::tests,
        records::corrections,
        records::proof,
        records::pushes,
        records::push,
        records::candidates,
        records::blockers,
        reviews::list,
        reviews::add,
        traces::of_task,
        events::of_task,
        diff::show,
        events::all,
        blockers::list,
        blockers::answer,
        approvals::list,
        approvals::decide,
        agents::list,
        usage::show,
        model_calls::usage,
        evaluations::list,
        traces::list,
        traces::show,
        tokens::list,
        tokens::add,
        tokens::revoke,
        audit::list,
        ws::connect,
    )
)]
struct Described;

/// The errors, with their descriptions.
const ERRORS: &[(&str, &str)] = &[
    ("400", "Invalid request."),
    ("401", "The token is missing or invalid."),
    (
        "403",
        "The Host or Origin header is not allowed, or the token does not have the needed scope.",
    ),
    ("404", "Not found."),
    ("409", "The current state does not allow it."),
    ("413", "The body is too large."),
    (
        "503",
        "The store is unreachable; Retry-After gives the delay before a retry.",
    ),
    ("507", "The store has no space left."),
];

/// Builds the document.
pub(super) fn document() -> Value {
    let mut document = serde_json::to_value(Described::openapi()).unwrap_or_default();
    if let Some(info) = document["info"].as_object_mut() {
        info.retain(|key, _| ["title", "version", "description"].contains(&key.as_str()));
    }
    add_alias(&mut document);
    for (method, path, access, _) in table() {
        let operation = &mut document["paths"][path][method];
        if operation.is_object() {
            complete(operation, path, access);
        }
    }
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.values_mut().for_each(forbid_other_fields);
    }
    let error = json!({"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}});
    let errors = ERRORS.iter().map(|(status, description)| {
        let response = json!({"description": description, "content": error});
        ((*status).to_owned(), response)
    });
    document["components"]["responses"] = Value::Object(errors.collect());
    document["components"]["securitySchemes"] = json!({
        "bearer": {"type": "http", "scheme": "bearer"},
        "key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": "windlass-PORT"}
    });
    document["security"] = security(&[]);
    document
}

/// Describes the former path of a task's blockers.
fn add_alias(document: &mut Value) {
    let mut alias = document["paths"]["/tasks/{id}/blockers"].clone();
    alias["get"]["summary"] = json!("Former path of /tasks/{id}/blockers");
    alias["get"]["deprecated"] = json!(true);
    document["paths"]["/tasks/{id}/questions"] = alias;
}

/// The ways to authenticate, with the needed scopes.
fn security(scopes: &[&str]) -> Value {
    json!([{"bearer": scopes}, {"key": scopes}, {"cookie": scopes}])
}

/// Adds the needed scope and the possible errors to an operation.
fn complete(operation: &mut Value, path: &str, access: RouteAccess) {
    operation["security"] = match access {
        RouteAccess::Open => json!([]),
        RouteAccess::AnyToken => security(&[]),
        RouteAccess::Needs(scope) => security(&[scope.as_str()]),
    };
    let has_query = operation["parameters"]
        .as_array()
        .is_some_and(|parameters| parameters.iter().any(|found| found["in"] == "query"));
    let has_body = operation["requestBody"].is_object();
    let Some(operation) = operation.as_object_mut() else {
        return;
    };
    // Names of functions and modules, which mean nothing to a client.
    operation.remove("operationId");
    operation.remove("tags");
    if let Some(Value::String(summary)) = operation.get_mut("summary") {
        summary.truncate(summary.trim_end_matches('.').len());
    }
    let errors = [
        ("400", has_query || has_body),
        ("401", true),
        ("403", true),
        ("404", path.contains('{')),
        ("413", has_body),
        ("503", true),
        ("507", has_body),
    ];
    let responses = operation.entry("responses").or_insert_with(|| json!({}));
    for (status, is_possible) in errors {
        if is_possible && responses[status].is_null() {
            responses[status] = json!({"$ref": format!("#/components/responses/{status}")});
        }
    }
    // A handler that describes a conflict describes only that there is one.
    if !responses["409"].is_null() {
        responses["409"] = json!({"$ref": "#/components/responses/409"});
    }
}

/// States in every object of a schema that it has no other fields than the described ones.
fn forbid_other_fields(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(forbid_other_fields);
            close(fields);
        }
        Value::Array(items) => items.iter_mut().for_each(forbid_other_fields),
        _ => {}
    }
}

fn close(schema: &mut Map<String, Value>) {
    let is_object = schema.get("type") == Some(&json!("object"));
    if is_object && schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
}
