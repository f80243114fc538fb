//! The tool.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use windlass_core::{Result, ToolKind, ToolOutput};
use windlass_workspace::paths::Root;

use super::find::search_until;
use super::query::SearchQuery;
use crate::handler::{ToolHandler, blocking};
use crate::results::FSResult;

/// The time limit of a search.
const DEADLINE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Search(pub(crate) Root);

impl ToolHandler for Search {
    const NAME: &'static str = "search";
    const DESCRIPTION: &'static str = "Search the workspace's files for lines that match a regular expression. \
        Files that git ignores and binary files are skipped. Returns path:line:text.";
    const KIND: ToolKind = ToolKind::Read;
    type Input = SearchQuery;

    fn run(&self, query: SearchQuery) -> BoxFuture<'_, Result<ToolOutput>> {
        let root = self.0.clone();
        // Stops the search when the future is dropped or the deadline passes.
        let stop = StopOnDrop(Arc::default());
        let stopped = Arc::clone(&stop.0);
        Box::pin(async move {
            let result = blocking(move || search_until(&root, &query, &stopped));
            match tokio::time::timeout(DEADLINE, result).await {
                Ok(output) => Ok(output??.into()),
                Err(_) => {
                    drop(stop);
                    let after = DEADLINE.as_secs();
                    let message = format!(
                        "search: took longer than {after} s: set path or glob to narrow it"
                    );
                    Ok(FSResult::failed(message).into())
                }
            }
        })
    }
}

struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
