//! Model calls.

use std::fmt;

use super::account_limits::AccountLimits;
use super::error::StoreFuture;
use crate::id::ModelCallId;
use crate::model_call::{
    CallAdmission, ModelCallEnd, NewModelCall, SpendLimit, UsageQuery, UsageTotal,
};

/// Stores the model calls of agents. It is not part of [`TaskStore`](crate::TaskStore): no task needs it.
pub trait ModelCalls: AccountLimits + fmt::Debug {
    /// Stores the start of a call, with what it reserves, if all limits allow it.
    ///
    /// What concurrent calls have reserved counts, so that they cannot exceed a limit together. A call with an unknown
    /// price is refused by every limit.
    fn begin_call(
        &self,
        call: NewModelCall,
        limits: Vec<SpendLimit>,
    ) -> StoreFuture<'_, CallAdmission>;
    /// Stores a call that is not sent. With a reason, the task's log gets an event.
    fn refuse_call(&self, call: NewModelCall, reason: Option<String>) -> StoreFuture<'_, ()>;
    /// Stores the end of a call.
    fn end_call(&self, id: ModelCallId, end: ModelCallEnd) -> StoreFuture<'_, ()>;
    /// Returns what the calls used and cost, the row with the highest cost first.
    fn usage_totals(&self, query: UsageQuery) -> StoreFuture<'_, Vec<UsageTotal>>;
}
