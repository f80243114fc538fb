//! Embeddings, for models on servers that have them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};
use windlass_agents::model::CompletionContext;
use windlass_wire::{Dialect, ErrorKind, ModelError};

use crate::api_caller::work_of;
use crate::state::ApiState;
use crate::{errors, handlers};

/// The fields of a request, apart from the model. Another field is rejected, not ignored.
const FIELDS: [&str; 4] = ["input", "encoding_format", "dimensions", "user"];

/// Handles a request for embeddings. Model, endpoint and key are those of the configuration.
pub(crate) async fn embed(State(state): State<Arc<ApiState>>, request: Request) -> Response {
    match answer(&state, request).await {
        Ok(body) => Json(body).into_response(),
        Err(error) => errors::render(Dialect::Chat, &error),
    }
}

async fn answer(state: &ApiState, request: Request) -> Result<Value, ModelError> {
    let (head, body) = request.into_parts();
    let body = handlers::read(state, &head.headers, body).await?;
    let invalid = |message: String| ModelError::new(ErrorKind::InvalidRequest, message);
    let mut fields: Map<String, Value> = serde_json::from_slice(&body)
        .map_err(|error| invalid(format!("the body is not a JSON object: {error}")))?;
    let name = match fields.remove("model") {
        Some(Value::String(name)) => name,
        _ => {
            return Err(invalid(
                "model is missing: GET /v1/models lists all".to_owned(),
            ));
        }
    };
    if let Some(unknown) = fields.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return Err(invalid(format!(
            "`{unknown}` is not supported for embeddings"
        )));
    }
    if fields.get("input").is_none_or(Value::is_null) {
        return Err(invalid("input is missing".to_owned()));
    }
    let found = state.find(&name);
    let served = found.map_err(|error| ModelError::from(&error))?;
    let context = CompletionContext {
        work: work_of(&head.extensions),
        ..CompletionContext::default()
    };
    let call = served
        .native
        .as_ref()
        .and_then(|native| native.embed(fields, &context));
    let call = call.ok_or_else(|| {
        let message = format!(
            "{} has no embeddings: use a model of the backend openai or ollama",
            served.name
        );
        ModelError {
            code: Some("embeddings_not_supported".to_owned()),
            ..ModelError::new(ErrorKind::NotFound, message)
        }
    })?;
    let _permit = Arc::clone(&state.permits)
        .try_acquire_owned()
        .map_err(|_| errors::too_many_requests(state.limits.concurrent))?;
    let limit = served.agent.limits().deadline;
    let answer = tokio::select! {
        answer = call => answer.map_err(|error| errors::from_model(&served.name, error))?,
        () = state.clock.sleep(limit) => {
            let message = format!("{} exceeded its time limit", served.name);
            return Err(errors::timeout(message));
        }
    };
    let mut answer = answer;
    answer["model"] = name.into();
    Ok(answer)
}
