//! Permission requests.

use windlass_tasks::{Approval, ApprovalId, Approvals, NewApproval, StoreFuture};

use super::write::{durable, operation, relaxed};
use crate::ops::approvals;
use crate::store::SqlStore;
use crate::write_job::stages;

impl Approvals for SqlStore {
    fn request_approval(&self, approval: NewApproval) -> StoreFuture<'_, Approval> {
        let options = relaxed(stages!("requesting permission"));
        self.write(
            options,
            operation!(|db, approval| approvals::request(db, &approval)),
        )
    }

    fn approval(&self, id: ApprovalId) -> StoreFuture<'_, Approval> {
        self.read("reading a permission request", move |db| {
            Box::pin(approvals::get(db, id))
        })
    }

    fn approvals(&self, open: bool) -> StoreFuture<'_, Vec<Approval>> {
        self.read("listing permission requests", move |db| {
            Box::pin(approvals::list(db, open))
        })
    }

    fn decide_approval(&self, id: ApprovalId, option: Option<String>) -> StoreFuture<'_, Approval> {
        let options = durable(stages!("deciding a permission request"));
        self.write(
            options,
            operation!(|db, option| approvals::decide(db, id, option.as_deref())),
        )
    }
}
