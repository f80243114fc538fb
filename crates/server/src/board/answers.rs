//! What a person decides: answers to blockers, and permission requests.

use windlass_tasks::{Approval, ApprovalId, BlockerId, Task};

use super::Board;
use crate::error::ApiError;

impl Board {
    /// Answers a blocker and resumes its task.
    pub(crate) async fn answer(&self, id: BlockerId, text: String) -> Result<Task, ApiError> {
        if text.trim().is_empty() {
            return Err(ApiError::bad_request("the answer must not be empty"));
        }
        Ok(self.store.answer_blocker(id, text).await?)
    }

    /// Chooses an option of a permission request. The first decision is final.
    pub(crate) async fn decide(
        &self,
        id: ApprovalId,
        option: String,
    ) -> Result<Approval, ApiError> {
        let offered = self.store.approval(id).await?.request.options;
        if !offered.iter().any(|known| known.id == option) {
            return Err(ApiError::bad_request(format!(
                "permission request {id} does not offer {option:?}"
            )));
        }
        let decided = self.store.decide_approval(id, option.clone()).await?;
        match decided.rejection(&option) {
            Some(why) => Err(ApiError::conflict(why)),
            None => Ok(decided),
        }
    }
}
