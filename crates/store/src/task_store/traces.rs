//! Traces.

use std::sync::Arc;

use windlass_core::TraceNode;
use windlass_tasks::{StoreFuture, TaskId, Traces};

use super::write::{operation, relaxed};
use crate::merge::{MergeInput, Mergeable};
use crate::ops::traces::{self, NewTrace};
use crate::store::{SqlStore, WriteExtras};
use crate::write_job::stages;

impl Traces for SqlStore {
    fn put_trace(&self, id: String, task: Option<TaskId>, root: TraceNode) -> StoreFuture<'_, ()> {
        let observed = self
            .trace_observer()
            .map(|to| (to, id.clone(), root.clone()));
        let trace = Arc::new(NewTrace { id, task, root });
        let extras = WriteExtras {
            undo: None,
            merge: Some(Mergeable::written(MergeInput::PutTrace(Arc::clone(&trace)))),
        };
        let put = self.write_with(
            relaxed(stages!("storing a trace")),
            operation!(shared | db, trace | traces::put(db, &trace)),
            extras,
        );
        Box::pin(async move {
            put.await?;
            if let Some((to, id, root)) = observed {
                to.on_trace(self.id().await?, id, root);
            }
            Ok(())
        })
    }

    fn trace(&self, id: String) -> StoreFuture<'_, TraceNode> {
        self.read("reading a trace", move |db| {
            Box::pin(async move { traces::get(db, &id).await })
        })
    }

    fn traces(&self, task: Option<TaskId>, limit: u32) -> StoreFuture<'_, Vec<String>> {
        self.read("listing traces", move |db| {
            Box::pin(traces::list(db, task, limit))
        })
    }
}
