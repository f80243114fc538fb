//! Walks the files under a directory through the root, without following links.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_workspace::paths::{PathError, PathKind, Root};

use super::ignore_rules::IgnoreRules;

/// The maximum number of names that are read in one directory.
const MAX_NAMES: usize = 100_000;

/// Calls `visit` for every file that is not ignored, in order, until it breaks or `stop` is set.
pub(super) fn walk(
    root: &Root,
    start: &str,
    stop: &AtomicBool,
    visit: &mut dyn FnMut(&str) -> ControlFlow<()>,
) -> Result<(), PathError> {
    let start = start.trim_end_matches('/');
    let start = start.strip_prefix("./").unwrap_or(start);
    let start = if start == "." { "" } else { start };
    if !start.is_empty() && root.metadata(start)?.kind == PathKind::File {
        let _ = visit(start);
        return Ok(());
    }
    // The start must be a directory. Errors in subdirectories are skipped.
    root.list(if start.is_empty() { "." } else { start }, 1)?;
    let mut pending = vec![(start.to_owned(), rules_above(root, start))];
    while let Some((dir, parent)) = pending.pop() {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let list_path = if dir.is_empty() { "." } else { &dir };
        let Ok(listing) = root.list(list_path, MAX_NAMES) else {
            continue;
        };
        let rules = IgnoreRules::load(root, &dir, parent);
        let mut subdirs = Vec::new();
        for entry in listing.entries {
            let is_dir = entry.kind == PathKind::Folder;
            let path = if dir.is_empty() {
                entry.name.clone()
            } else {
                format!("{dir}/{}", entry.name)
            };
            if entry.name == ".git" || rules.is_ignored(&path, is_dir) {
                continue;
            }
            if is_dir {
                subdirs.push((path, Some(Arc::clone(&rules))));
                continue;
            }
            let done = stop.load(Ordering::Relaxed)
                || entry.kind == PathKind::File && visit(&path).is_break();
            if done {
                return Ok(());
            }
        }
        pending.extend(subdirs.into_iter().rev());
    }
    Ok(())
}

/// Returns the rules of the directories above the start.
fn rules_above(root: &Root, start: &str) -> Option<Arc<IgnoreRules>> {
    let mut parent = None;
    if start.is_empty() || start.split('/').any(|part| part == "..") {
        return None;
    }
    let ends = start.match_indices('/').map(|(at, _)| at);
    for end in std::iter::once(0).chain(ends) {
        parent = Some(IgnoreRules::load(root, &start[..end], parent));
    }
    parent
}
