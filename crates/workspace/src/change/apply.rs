//! Applies files written by a model: checked first, then all of them or none.

use std::collections::BTreeSet;
use std::path::Path;

use windlass_tasks::{FileAction, FileChange};

use crate::error::{Error, Result};
use crate::paths::{PathKind, Root, TEMP_PREFIX};

/// Maximum size of a replaced file: its old content is held in memory until all changes are done.
const MAX_REPLACED_BYTES: u64 = 64 << 20;

/// How to undo one step.
enum UndoStep {
    /// The file did not exist.
    Remove(String),
    /// The file had this content.
    Restore(String, Vec<u8>),
    /// The file was moved aside to be deleted.
    MoveBack { path: String, aside: String },
}

/// Applies all files, or none, and returns the changed paths, sorted.
pub(crate) fn apply(dir: &Path, files: Vec<FileChange>) -> Result<Vec<String>> {
    let root = Root::open(dir)?;
    check(&root, &files)?;
    let mut undo = Vec::new();
    for (number, file) in files.iter().enumerate() {
        if let Err(error) = step(&root, file, number, &mut undo) {
            roll_back(&root, undo);
            return Err(error);
        }
    }
    for step in undo {
        if let UndoStep::MoveBack { aside, .. } = step {
            root.delete(&aside)?;
        }
    }
    let paths: BTreeSet<String> = files.into_iter().map(|file| file.path).collect();
    Ok(paths.into_iter().collect())
}

/// Rejects invalid changes before anything is modified.
fn check(root: &Root, files: &[FileChange]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for file in files {
        let reject = |problem: &str| {
            Err(Error::Change {
                path: file.path.clone(),
                problem: problem.to_owned(),
            })
        };
        if !seen.insert(&file.path) {
            return reject("occurs twice in one change");
        }
        let found = match root.metadata(&file.path) {
            Err(error) if error.is_not_found() => None,
            other => Some(other?),
        };
        match (file.action, found) {
            (FileAction::Modify, None) => return reject("cannot be modified: no such file"),
            (FileAction::Delete, None) => return reject("cannot be deleted: no such file"),
            (_, Some(found)) if found.kind != PathKind::File => return reject("is not a file"),
            _ => {}
        }
    }
    Ok(())
}

fn step(root: &Root, file: &FileChange, number: usize, undo: &mut Vec<UndoStep>) -> Result<()> {
    let path = file.path.clone();
    if file.action == FileAction::Delete {
        let name = format!("{TEMP_PREFIX}deleted-{number}");
        let aside = match path.rsplit_once('/') {
            Some((above, _)) => format!("{above}/{name}"),
            None => name,
        };
        root.rename(&path, &aside)?;
        undo.push(UndoStep::MoveBack { path, aside });
        return Ok(());
    }
    let old = match root.read(&path, MAX_REPLACED_BYTES) {
        Err(error) if error.is_not_found() => UndoStep::Remove(path),
        other => UndoStep::Restore(path, other?),
    };
    root.write(&file.path, file.content.as_bytes())?;
    undo.push(old);
    Ok(())
}

/// Undoes the steps in reverse order. Changes that cannot be undone are discarded with the clone.
fn roll_back(root: &Root, undo: Vec<UndoStep>) {
    for step in undo.into_iter().rev() {
        let result = match &step {
            UndoStep::Remove(path) => root.delete(path),
            UndoStep::Restore(path, content) => root.write(path, content).map(drop),
            UndoStep::MoveBack { path, aside } => root.rename(aside, path),
        };
        if let Err(error) = result {
            tracing::warn!(%error, "a change could not be rolled back completely");
        }
    }
}
