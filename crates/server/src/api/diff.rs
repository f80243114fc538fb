//! The change that a task made.

use axum::extract::State;

use super::asked::Number;
use crate::error::{Answer, Refusal};
use crate::shared::Shared;

pub(super) async fn show(
    State(shared): State<Shared>,
    Number(id): Number,
) -> Result<Answer<serde_json::Value>, Refusal> {
    let task = shared.store.task(id).await?;
    let text = shared.desk.diff(&task).await?;
    Ok(Answer(serde_json::json!({ "text": text })))
}
