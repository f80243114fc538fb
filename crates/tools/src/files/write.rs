//! `fs_write`: writes a file.

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::Result;
use windlass_core::{ToolKind, ToolOutput};
use windlass_workspace::paths::{PathError, Root};

use crate::handler::{ToolHandler, blocking};
use crate::results::FSResult;

/// The arguments of `fs_write`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The file, relative to the workspace. Missing directories are created.
    path: String,
    /// The complete text of the file.
    content: String,
}

#[derive(Debug)]
pub(crate) struct FsWrite(pub(crate) Root);

impl ToolHandler for FsWrite {
    const NAME: &'static str = "fs_write";
    const DESCRIPTION: &'static str =
        "Write a UTF-8 text file of the workspace. An existing file is replaced.";
    const KIND: ToolKind = ToolKind::Write;
    type Input = Input;

    fn run(&self, input: Input) -> BoxFuture<'_, Result<ToolOutput>> {
        let root = self.0.clone();
        Box::pin(async move {
            let write = move || fs_write(&root, &input.path, &input.content);
            Ok(blocking(write).await??.into())
        })
    }
}

/// Writes a file atomically, and creates missing directories.
pub fn fs_write(root: &Root, path: &str, content: &str) -> Result<FSResult, PathError> {
    match root.write(path, content.as_bytes()) {
        Ok(_) => {
            let (lines, bytes) = (content.lines().count(), content.len());
            Ok(FSResult::done(format!(
                "wrote {path} ({lines} lines, {bytes} bytes)"
            )))
        }
        Err(error) => FSResult::from_path_error("write", error),
    }
}
