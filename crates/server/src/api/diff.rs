//! The change that a task made, with colours.

use axum::extract::State;

use super::asked::Number;
use crate::diff::{Diff, paint};
use crate::error::{Answer, Refusal};
use crate::shared::Shared;

pub(super) async fn show(
    State(shared): State<Shared>,
    Number(id): Number,
) -> Result<Answer<Diff>, Refusal> {
    let task = shared.store.task(id).await?;
    let text = shared.desk.diff(&task).await?;
    // One at a time: others who wait for the server must not wait for colours.
    let turn = shared.painters.acquire().await;
    let _turn = turn.map_err(|error| Refusal::internal(error.to_string()))?;
    let painted = tokio::task::spawn_blocking(move || paint(&text)).await;
    painted
        .map(Answer)
        .map_err(|error| Refusal::internal(error.to_string()))
}
