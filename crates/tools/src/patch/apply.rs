//! Carries a patch out: all of it, or nothing.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::Result;
use windlass_core::{ToolKind, ToolOutput};
use windlass_workspace::paths::{PathError, Root};

use super::{FilePatch, place, read};
use crate::bound::{Deed, blocking};
use crate::files::TEXT_BYTES;
use crate::results::FSResult;

/// The patch.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// From `*** Begin Patch` to `*** End Patch`, with `*** Add File: path` (lines begin with +),
    /// `*** Delete File: path` and `*** Update File: path` (perhaps `*** Move to: path`, then pieces: `@@ line
    /// before the piece`, lines beginning with space, - or +). A unified diff works too.
    #[serde(alias = "input")]
    patch: String,
}

#[derive(Debug)]
pub(crate) struct ApplyPatch(pub(crate) Root);

impl Deed for ApplyPatch {
    const NAME: &'static str = "apply_patch";
    const ABOUT: &'static str = "Add, change, move and delete files of the workspace with one patch. \
        If a piece does not fit, nothing is changed.";
    const KIND: ToolKind = ToolKind::Write;
    type Input = Input;

    fn run(&self, input: Input) -> BoxFuture<'_, Result<ToolOutput>> {
        let root = self.0.clone();
        Box::pin(async move {
            let apply = move || apply_patch(&root, &input.patch);
            Ok(blocking(apply).await??.into())
        })
    }
}

/// Applies a patch, in either form, to the files beneath a root.
pub fn apply_patch(root: &Root, patch: &str) -> Result<FSResult, PathError> {
    let planned = read(patch)
        .map_err(Problem::Told)
        .and_then(|files| Plan::make(root, files));
    let plan = match planned {
        Ok(plan) => plan,
        Err(Problem::Told(said)) => return Ok(FSResult::failed(format!("patch: {said}"))),
        Err(Problem::Path(error)) => return FSResult::faulted("patch", error),
    };
    match plan.carry_out(root) {
        Ok(()) => Ok(FSResult::done(plan.told.join("\n"))),
        Err(error) => FSResult::faulted("patch", error),
    }
}

/// Why a patch cannot be applied.
enum Problem {
    Told(String),
    Path(PathError),
}

impl From<PathError> for Problem {
    fn from(error: PathError) -> Self {
        Self::Path(error)
    }
}

/// What every file will hold. Nothing means that it will be gone.
#[derive(Default)]
struct Plan {
    before: BTreeMap<String, Option<Vec<u8>>>,
    after: BTreeMap<String, Option<Vec<u8>>>,
    told: Vec<String>,
}

impl Plan {
    fn make(root: &Root, files: Vec<FilePatch>) -> Result<Self, Problem> {
        let mut plan = Self::default();
        for file in files {
            match file {
                FilePatch::Add { path, content } => {
                    plan.must_be_free(root, &path)?;
                    plan.told.push(format!("A {path}"));
                    plan.after.insert(path, Some(content.into_bytes()));
                }
                FilePatch::Delete { path } => {
                    plan.content(root, &path)?;
                    plan.told.push(format!("D {path}"));
                    plan.after.insert(path, None);
                }
                FilePatch::Update { path, to, hunks } => {
                    let old = String::from_utf8(plan.content(root, &path)?)
                        .map_err(|_| Problem::Told(format!("not UTF-8 text: {path}")))?;
                    let new = place::change(&old, &hunks)
                        .map_err(|why| Problem::Told(format!("{path}: {why}")))?;
                    plan.told
                        .push(format!("M {}", to.as_ref().unwrap_or(&path)));
                    if let Some(to) = to {
                        plan.must_be_free(root, &to)?;
                        plan.after.insert(path, None);
                        plan.after.insert(to, Some(new.into_bytes()));
                    } else {
                        plan.after.insert(path, Some(new.into_bytes()));
                    }
                }
            }
        }
        Ok(plan)
    }

    /// What a file will hold when the patch has come so far.
    fn content(&mut self, root: &Root, path: &str) -> Result<Vec<u8>, Problem> {
        if let Some(planned) = self.after.get(path) {
            let gone = || PathError::NotFound {
                path: path.to_owned(),
            };
            return planned.clone().ok_or_else(|| gone().into());
        }
        let content = root.read(path, TEXT_BYTES)?;
        self.before.insert(path.to_owned(), Some(content.clone()));
        Ok(content)
    }

    fn must_be_free(&mut self, root: &Root, path: &str) -> Result<(), Problem> {
        let is_taken = match self.after.get(path) {
            Some(planned) => planned.is_some(),
            None => root.exists(path)?,
        };
        if is_taken {
            return Err(Problem::Told(format!("already exists: {path}")));
        }
        self.before.entry(path.to_owned()).or_insert(None);
        Ok(())
    }

    /// Writes everything, or puts back what was written.
    fn carry_out(&self, root: &Root) -> Result<(), PathError> {
        let mut done = Vec::new();
        for (path, content) in &self.after {
            if let Err(error) = put(root, path, content.as_deref()) {
                for path in done.iter().rev() {
                    let before = self.before.get(*path).and_then(Option::as_deref);
                    // What cannot be put back now could not be changed a moment ago either.
                    let _ = put(root, path, before);
                }
                return Err(error);
            }
            done.push(path.as_str());
        }
        Ok(())
    }
}

fn put(root: &Root, path: &str, content: Option<&[u8]>) -> Result<(), PathError> {
    match content {
        Some(content) => root.write(path, content).map(drop),
        None => match root.delete(path) {
            // Added and deleted again by the same patch.
            Err(error) if error.is_not_found() => Ok(()),
            other => other,
        },
    }
}
