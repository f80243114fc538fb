//! Model calls.

use std::sync::Arc;

use windlass_tasks::{
    CallAdmission, ModelCallEnd, ModelCallId, ModelCalls, NewModelCall, SpendLimit, StoreFuture,
    UsageQuery, UsageTotal,
};

use super::write::{operation, relaxed};
use crate::merge::{MergeInput, MergeOutput, Mergeable};
use crate::ops::model_calls;
use crate::store::{SqlStore, WriteExtras};
use crate::write_job::stages;

impl ModelCalls for SqlStore {
    fn begin_call(
        &self,
        call: NewModelCall,
        limits: Vec<SpendLimit>,
    ) -> StoreFuture<'_, CallAdmission> {
        let call = Arc::new(call);
        let extras = WriteExtras {
            undo: None,
            merge: limits.is_empty().then(|| Mergeable {
                input: Arc::new(MergeInput::BeginCall(Arc::clone(&call))),
                output: |output| match output {
                    MergeOutput::BeganCall(id) => Some(CallAdmission::Admitted {
                        id,
                        notices: Vec::new(),
                    }),
                    _ => None,
                },
            }),
        };
        let args = (call, limits);
        self.write_with(
            relaxed(stages!("storing a model call")),
            operation!(|db, args| model_calls::begin(db, &args.0, &args.1)),
            extras,
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
        let ended = Arc::new((id, end));
        let extras = WriteExtras {
            undo: None,
            merge: Some(Mergeable::written(MergeInput::EndCall(Arc::clone(&ended)))),
        };
        self.write_with(
            relaxed(stages!("storing the end of a model call")),
            operation!(shared | db, ended | model_calls::end(db, &ended)),
            extras,
        )
    }

    fn usage_totals(&self, query: UsageQuery) -> StoreFuture<'_, Vec<UsageTotal>> {
        self.read("summing model calls", move |db| {
            Box::pin(model_calls::totals(db, query))
        })
    }
}
