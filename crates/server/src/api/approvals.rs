//! Permission requests: asked by a worker anywhere on the same store, decided here.

use axum::extract::State;
use serde::Deserialize;
use windlass_core::task::Approval;

use super::asked::{Fields, Number, Told};
use crate::error::{Answer, Refusal};
use crate::shared::Shared;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    #[serde(default)]
    open: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Choice {
    option: String,
}

pub(super) async fn list(
    State(shared): State<Shared>,
    Fields(which): Fields<Which>,
) -> Result<Answer<Vec<Approval>>, Refusal> {
    Ok(Answer(shared.store.approvals(which.open).await?))
}

/// Decides a request. The first decision holds: who comes later with another one is told so.
pub(super) async fn decide(
    State(shared): State<Shared>,
    Number(id): Number,
    Told(choice): Told<Choice>,
) -> Result<Answer<Approval>, Refusal> {
    let offered = shared.store.approval(id).await?.asked.options;
    if !offered.iter().any(|option| option.id == choice.option) {
        return Err(Refusal::bad(format!(
            "permission request {id} does not offer {:?}",
            choice.option
        )));
    }
    let decided = shared.store.decide(id, Some(choice.option.clone())).await?;
    let holds = decided
        .decision
        .as_ref()
        .and_then(|held| held.option.as_ref());
    if holds != Some(&choice.option) {
        return Err(Refusal::conflict(match holds {
            Some(other) => format!("permission request {id} was decided before: {other}"),
            None => format!("permission request {id} was withdrawn: its turn has ended"),
        }));
    }
    Ok(Answer(decided))
}
