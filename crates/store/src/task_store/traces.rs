//! Traces.

use windlass_core::TraceNode;
use windlass_tasks::{StoreFuture, TaskId, Traces};

use super::write::{operation, relaxed};
use crate::ops::traces;
use crate::store::SqlStore;
use crate::write_job::stages;

impl Traces for SqlStore {
    fn put_trace(&self, id: String, task: Option<TaskId>, root: TraceNode) -> StoreFuture<'_, ()> {
        let options = relaxed(stages!("storing a trace"));
        let observed = self
            .trace_observer()
            .map(|to| (to, id.clone(), root.clone()));
        let args = (id, root);
        let put = self.write(
            options,
            operation!(|db, args| traces::put(db, &args.0, task, &args.1)),
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
