//! What the writes of a store have in common.

use windlass_tasks::{StoreError, StoreFuture};

use crate::store::{Durability, WriteOptions};
use crate::write_job::StageLabels;

/// Options of a write that must survive power loss.
pub(super) fn durable(stages: StageLabels) -> WriteOptions {
    let durability = Durability::Durable;
    WriteOptions { stages, durability }
}

/// Options of a write that gives out a fencing token.
pub(super) fn fencing(stages: StageLabels) -> WriteOptions {
    let durability = Durability::Fencing;
    WriteOptions { stages, durability }
}

/// Options of a write that need not survive power loss.
pub(super) fn relaxed(stages: StageLabels) -> WriteOptions {
    let durability = Durability::Relaxed;
    WriteOptions { stages, durability }
}

/// Returns a future that fails without starting a write.
pub(super) fn ready_error<'a, T: Send + 'a>(error: StoreError) -> StoreFuture<'a, T> {
    Box::pin(std::future::ready(Err(error)))
}

/// Builds a write operation that owns its arguments, because it may run more than once. With `shared`, they are an `Arc`.
macro_rules! operation {
    (shared |$db:ident, $args:ident| $operation:expr) => {
        move |$db| {
            let $args = std::sync::Arc::clone(&$args);
            Box::pin(async move { $operation.await })
        }
    };
    (|$db:ident, $args:ident| $operation:expr) => {{
        let $args = std::sync::Arc::new($args);
        $crate::task_store::write::operation!(shared | $db, $args | $operation)
    }};
}

pub(super) use operation;
