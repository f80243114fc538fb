//! Questions that tasks wait for.

use axum::extract::State;
use serde::Deserialize;
use windlass_core::task::{Blocker, ProjectId, Task};

use super::asked::{Fields, Number, Told};
use crate::error::{Answer, Refusal};
use crate::shared::Shared;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    #[serde(default)]
    open: bool,
    project: Option<ProjectId>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    text: String,
}

pub(super) async fn list(
    State(shared): State<Shared>,
    Fields(which): Fields<Which>,
) -> Result<Answer<Vec<Blocker>>, Refusal> {
    let found = shared.store.blockers(which.project, which.open).await?;
    Ok(Answer(found))
}

/// Answers a question; its task goes on.
pub(super) async fn answer(
    State(shared): State<Shared>,
    Number(id): Number,
    Told(words): Told<Words>,
) -> Result<Answer<Task>, Refusal> {
    if words.text.trim().is_empty() {
        return Err(Refusal::bad("the answer is empty"));
    }
    Ok(Answer(shared.store.answer(id, words.text).await?))
}
