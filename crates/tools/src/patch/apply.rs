//! Applies a patch, completely or not at all.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::Result;
use windlass_core::{ToolKind, ToolOutput};
use windlass_workspace::paths::{PathError, Root};

use super::{FilePatch, Hunk, locate, parse_patch};
use crate::files::TEXT_BYTES;
use crate::handler::{ToolHandler, blocking};
use crate::results::FSResult;

/// The arguments of `apply_patch`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// From `*** Begin Patch` to `*** End Patch`, with `*** Add File: path` (lines start with +), `*** Delete
    /// File: path` and `*** Update File: path` (optionally `*** Move to: path`, then hunks: `@@ line before
    /// the hunk`, lines starting with space, - or +). A unified diff also works.
    #[serde(alias = "input")]
    patch: String,
}

#[derive(Debug)]
pub(crate) struct ApplyPatch(pub(crate) Root);

impl ToolHandler for ApplyPatch {
    const NAME: &'static str = "apply_patch";
    const DESCRIPTION: &'static str = "Add, change, move and delete files of the workspace with one patch. \
        If a hunk does not match, nothing is changed.";
    const KIND: ToolKind = ToolKind::Write;
    type Input = Input;

    fn run(&self, input: Input) -> BoxFuture<'_, Result<ToolOutput>> {
        let root = self.0.clone();
        Box::pin(async move {
            let apply = move || apply_patch(&root, &input.patch);
            Ok(blocking(apply).await??.into())
        })
    }

    fn paths(input: Input) -> Option<Vec<String>> {
        let files = parse_patch(&input.patch).unwrap_or_default();
        Some(files.into_iter().flat_map(FilePatch::paths).collect())
    }
}

/// Applies a patch, in either format, to the files under a root.
pub fn apply_patch(root: &Root, patch: &str) -> Result<FSResult, PathError> {
    let planned = parse_patch(patch)
        .map_err(PatchError::Message)
        .and_then(|files| PatchPlan::new(root, files));
    let plan = match planned {
        Ok(plan) => plan,
        Err(PatchError::Message(message)) => {
            return Ok(FSResult::failed(format!("patch: {message}")));
        }
        Err(PatchError::Path(error)) => return FSResult::from_path_error("patch", error),
    };
    match plan.write_all(root) {
        Ok(()) => Ok(FSResult::done(plan.summary.join("\n"))),
        Err(error) => FSResult::from_path_error("patch", error),
    }
}

/// The error of a patch that cannot be applied.
enum PatchError {
    Message(String),
    Path(PathError),
}

impl From<PathError> for PatchError {
    fn from(error: PathError) -> Self {
        Self::Path(error)
    }
}

/// The content of a file, and whether it is executable.
#[derive(Clone)]
struct FileContent {
    bytes: Vec<u8>,
    executable: bool,
}

/// The content of every changed file before and after the patch. `None` means that the file does not exist.
#[derive(Default)]
struct PatchPlan {
    before: BTreeMap<String, Option<FileContent>>,
    after: BTreeMap<String, Option<FileContent>>,
    summary: Vec<String>,
}

impl PatchPlan {
    fn new(root: &Root, files: Vec<FilePatch>) -> Result<Self, PatchError> {
        let mut plan = Self::default();
        for file in files {
            match file {
                FilePatch::Add { path, content } => {
                    plan.ensure_absent(root, &path)?;
                    plan.summary.push(format!("A {path}"));
                    let content = FileContent {
                        bytes: content.into_bytes(),
                        executable: false,
                    };
                    plan.after.insert(path, Some(content));
                }
                FilePatch::Delete { path } => {
                    plan.content(root, &path)?;
                    plan.summary.push(format!("D {path}"));
                    plan.after.insert(path, None);
                }
                FilePatch::Update { path, to, hunks } => plan.update(root, path, to, &hunks)?,
            }
        }
        Ok(plan)
    }

    fn update(
        &mut self,
        root: &Root,
        path: String,
        to: Option<String>,
        hunks: &[Hunk],
    ) -> Result<(), PatchError> {
        let old = self.content(root, &path)?;
        let text = String::from_utf8(old.bytes)
            .map_err(|_| PatchError::Message(format!("not UTF-8 text: {path}")))?;
        let text = locate::apply_hunks(&text, hunks)
            .map_err(|reason| PatchError::Message(format!("{path}: {reason}")))?;
        let new = FileContent {
            bytes: text.into_bytes(),
            executable: old.executable,
        };
        if let Some(to) = &to {
            self.ensure_absent(root, to)?;
            self.after.insert(path.clone(), None);
        }
        let path = to.unwrap_or(path);
        self.summary.push(format!("M {path}"));
        self.after.insert(path, Some(new));
        Ok(())
    }

    /// Returns the content of a file after the part of the patch that was planned so far.
    fn content(&mut self, root: &Root, path: &str) -> Result<FileContent, PatchError> {
        if let Some(planned) = self.after.get(path) {
            let gone = || PathError::NotFound {
                path: path.to_owned(),
            };
            return planned.clone().ok_or_else(|| gone().into());
        }
        let content = FileContent {
            bytes: root.read(path, TEXT_BYTES)?,
            executable: root.metadata(path)?.mode & 0o100 != 0,
        };
        self.before.insert(path.to_owned(), Some(content.clone()));
        Ok(content)
    }

    fn ensure_absent(&mut self, root: &Root, path: &str) -> Result<(), PatchError> {
        let exists = match self.after.get(path) {
            Some(planned) => planned.is_some(),
            None => root.exists(path)?,
        };
        if exists {
            return Err(PatchError::Message(format!("already exists: {path}")));
        }
        self.before.entry(path.to_owned()).or_insert(None);
        Ok(())
    }

    /// Writes all files. On failure, restores the files that were already written.
    fn write_all(&self, root: &Root) -> Result<(), PathError> {
        let mut done = Vec::new();
        for (path, content) in &self.after {
            if let Err(error) = put(root, path, content.as_ref()) {
                for path in done.iter().rev() {
                    let before = self.before.get(*path).and_then(Option::as_ref);
                    // Errors are ignored: a file that was just written can normally be restored.
                    let _ = put(root, path, before);
                }
                return Err(error);
            }
            done.push(path.as_str());
        }
        Ok(())
    }
}

fn put(root: &Root, path: &str, content: Option<&FileContent>) -> Result<(), PathError> {
    let Some(content) = content else {
        return match root.delete(path) {
            // The same patch added the file and deleted it again.
            Err(error) if error.is_not_found() => Ok(()),
            other => other,
        };
    };
    let written = root.write(path, &content.bytes)?;
    if written.created && content.executable {
        root.set_executable(path, true)?;
    }
    Ok(())
}
