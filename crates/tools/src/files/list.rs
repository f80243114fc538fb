//! `fs_list`: the names in a folder.

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::Result;
use windlass_core::limits::OUTPUT_BYTES;
use windlass_core::{ToolKind, ToolOutput, visible_line};
use windlass_workspace::paths::{Kind, PathError, Root};

use crate::bound::{Deed, blocking};
use crate::clip::clip;
use crate::results::FSResult;

/// The most names that are given of one folder.
const NAMES: usize = 10_000;

/// What to list.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The folder, relative to the workspace. Leave out for the workspace itself.
    #[serde(default = "here")]
    path: String,
}

fn here() -> String {
    ".".to_owned()
}

#[derive(Debug)]
pub(crate) struct FsList(pub(crate) Root);

impl Deed for FsList {
    const NAME: &'static str = "fs_list";
    const ABOUT: &'static str =
        "List a folder of the workspace, one name per line; folders end with a slash.";
    const KIND: ToolKind = ToolKind::Read;
    type Input = Input;

    fn run(&self, input: Input) -> BoxFuture<'_, Result<ToolOutput>> {
        let root = self.0.clone();
        Box::pin(async move { Ok(blocking(move || fs_list(&root, &input.path)).await??.into()) })
    }
}

/// The names in a folder, sorted, one per line; folders end with a slash.
pub fn fs_list(root: &Root, path: &str) -> Result<FSResult, PathError> {
    let listing = match root.list(path, NAMES) {
        Ok(listing) => listing,
        Err(error) => return FSResult::faulted("list", error),
    };
    let mut names: Vec<String> = listing
        .entries
        .into_iter()
        .map(|entry| {
            // A name must not look like two.
            let name = visible_line(&entry.name).into_owned();
            match entry.kind {
                Kind::Folder => name + "/",
                _ => name,
            }
        })
        .collect();
    if listing.is_cut {
        names.push(format!("[… more than {NAMES} names, the rest is cut …]"));
    }
    Ok(FSResult::done(clip(names.join("\n"), OUTPUT_BYTES)))
}
