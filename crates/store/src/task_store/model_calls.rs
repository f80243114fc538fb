//! Model calls.

use windlass_tasks::{
    CallAdmission, ModelCallEnd, ModelCallId, ModelCalls, NewModelCall, SpendLimit, StoreFuture,
    UsageQuery, UsageTotal,
};

use super::write::{operation, relaxed};
use crate::ops::model_calls;
use crate::store::SqlStore;
use crate::write_job::stages;

impl ModelCalls for SqlStore {
    fn begin_call(
        &self,
        call: NewModelCall,
        limits: Vec<SpendLimit>,
    ) -> StoreFuture<'_, CallAdmission> {
        let args = (call, limits);
        self.write(
            relaxed(stages!("storing a model call")),
            operation!(|db, args| model_calls::begin(db, &args.0, &args.1)),
        )
    }

    fn refuse_call(&self, call: NewModelCall, reason: Option<String>) -> StoreFuture<'_, ()> {
        let args = (call, reason);
        self.write(
            relaxed(stages!("storing a refused model call")),
            operation!(|db, args| model_calls::refuse(db, &args.0, args.1.as_deref())),
        )
    }

    fn end_call(&self, id: ModelCallId, end: ModelCallEnd) -> StoreFuture<'_, ()> {
        self.write(
            relaxed(stages!("storing the end of a model call")),
            operation!(|db, end| model_calls::end(db, id, &end)),
        )
    }

    fn usage_totals(&self, query: UsageQuery) -> StoreFuture<'_, Vec<UsageTotal>> {
        self.read("summing model calls", move |db| {
            Box::pin(model_calls::totals(db, query))
        })
    }
}
