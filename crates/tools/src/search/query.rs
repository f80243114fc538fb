//! What is searched for, and the tool.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::Result;
use windlass_core::{ToolKind, ToolOutput};
use windlass_workspace::paths::Root;

use super::find::search_until;
use crate::handler::{ToolHandler, blocking};
use crate::results::FSResult;

/// How long a search may take.
const DEADLINE: Duration = Duration::from_secs(30);

/// What to search for.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct SearchQuery {
    /// A regular expression, as ripgrep takes it.
    pub pattern: String,
    /// The folder or file to search, relative to the workspace. Leave out for all of it.
    pub path: Option<String>,
    /// Only files that match this, such as `*.rs` or `src/**/*.ts`; with `!` before it, all others.
    pub glob: Option<String>,
    /// Take the pattern as plain text.
    #[serde(default)]
    pub literal: bool,
    /// Take capital and small letters as the same.
    #[serde(default)]
    pub ignore_case: bool,
    /// How many lines to show before and after each match, at most 20.
    #[serde(default)]
    pub context: u32,
    /// The most matches to show. Leave out for 200.
    pub max_matches: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct Search(pub(crate) Root);

impl ToolHandler for Search {
    const NAME: &'static str = "search";
    const DESCRIPTION: &'static str = "Search the workspace's files for lines that match a regular expression. \
        Files that git ignores and binary files are left out. Gives path:line:text.";
    const KIND: ToolKind = ToolKind::Read;
    type Input = SearchQuery;

    fn run(&self, query: SearchQuery) -> BoxFuture<'_, Result<ToolOutput>> {
        let root = self.0.clone();
        // Told to stop when nobody waits any more, or nobody should.
        let stop = StopOnDrop(Arc::default());
        let told = Arc::clone(&stop.0);
        Box::pin(async move {
            let searched = blocking(move || search_until(&root, &query, &told));
            match tokio::time::timeout(DEADLINE, searched).await {
                Ok(result) => Ok(result??.into()),
                Err(_) => {
                    drop(stop);
                    let after = DEADLINE.as_secs();
                    let said =
                        format!("search: took longer than {after} s: name a folder or a glob");
                    Ok(FSResult::failed(said).into())
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
