//! What a store does, one file for each part of a task's life. Each deed is a plain function on a session; where it
//! stands within a transaction, it may be run again if that one could not be kept.

pub(crate) mod approvals;
pub(crate) mod attempts;
pub(crate) mod blockers;
pub(crate) mod claim;
pub(crate) mod dependents;
pub(crate) mod enqueue;
pub(crate) mod finish;
pub(crate) mod projects;
pub(crate) mod reclaim;
pub(crate) mod records;
pub(crate) mod tasks;
pub(crate) mod traces;
