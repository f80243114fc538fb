//! Permission requests.

use std::fmt;

use super::error::StoreFuture;
use crate::approval::{Approval, NewApproval};
use crate::id::ApprovalId;

/// Stores permission requests. One process asks, and another one may decide.
pub trait Approvals: fmt::Debug + Send + Sync {
    /// Stores a permission request for a decision.
    fn request_approval(&self, approval: NewApproval) -> StoreFuture<'_, Approval>;
    /// Returns a permission request.
    fn approval(&self, id: ApprovalId) -> StoreFuture<'_, Approval>;
    /// Returns permission requests, oldest first; only the pending ones if `open` is `true`.
    fn approvals(&self, open: bool) -> StoreFuture<'_, Vec<Approval>>;
    /// Decides a permission request. `None` withdraws it. The first decision is final.
    fn decide_approval(&self, id: ApprovalId, option: Option<String>) -> StoreFuture<'_, Approval>;
}
