//! `fs_list`: lists a directory.

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::Result;
use windlass_core::limits::OUTPUT_BYTES;
use windlass_core::{ToolKind, ToolOutput, escape_line};
use windlass_workspace::paths::{PathError, PathKind, Root};

use crate::handler::{ToolHandler, blocking};
use crate::results::FSResult;
use crate::truncate::truncate_middle;

/// The maximum number of names in a listing.
const MAX_NAMES: usize = 10_000;

/// The arguments of `fs_list`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The directory, relative to the workspace. Omit it for the workspace itself.
    #[serde(default = "current_dir")]
    path: String,
}

fn current_dir() -> String {
    ".".to_owned()
}

#[derive(Debug)]
pub(crate) struct FsList(pub(crate) Root);

impl ToolHandler for FsList {
    const NAME: &'static str = "fs_list";
    const DESCRIPTION: &'static str =
        "List a directory of the workspace, one name per line; directories end with a slash.";
    const KIND: ToolKind = ToolKind::Read;
    type Input = Input;

    fn run(&self, input: Input) -> BoxFuture<'_, Result<ToolOutput>> {
        let root = self.0.clone();
        Box::pin(async move { Ok(blocking(move || fs_list(&root, &input.path)).await??.into()) })
    }
}

/// Returns the names in a directory, sorted, one per line. Directories end with a slash.
pub fn fs_list(root: &Root, path: &str) -> Result<FSResult, PathError> {
    let listing = match root.list(path, MAX_NAMES) {
        Ok(listing) => listing,
        Err(error) => return FSResult::from_path_error("list", error),
    };
    let mut names: Vec<String> = listing
        .entries
        .into_iter()
        .map(|entry| {
            // A name with a line end must not look like two names.
            let name = escape_line(&entry.name).into_owned();
            match entry.kind {
                PathKind::Folder => name + "/",
                _ => name,
            }
        })
        .collect();
    if listing.is_cut {
        names.push(format!(
            "[… more than {MAX_NAMES} names, the rest is omitted …]"
        ));
    }
    Ok(FSResult::done(truncate_middle(
        names.join("\n"),
        OUTPUT_BYTES,
    )))
}
