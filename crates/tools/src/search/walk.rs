//! Goes through the files beneath a folder, through the root and through no link.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_workspace::paths::{PathError, PathKind, Root};

use super::ignore_rules::IgnoreRules;

/// The most names that are looked at in one folder.
const NAMES: usize = 100_000;

/// Shows every file that is not ignored, in order, until told to stop.
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
    // The first folder must be one; what goes wrong deeper is passed over.
    root.list(if start.is_empty() { "." } else { start }, 1)?;
    let mut waiting = vec![(start.to_owned(), rules_above(root, start))];
    while let Some((folder, above)) = waiting.pop() {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let shown = if folder.is_empty() { "." } else { &folder };
        let Ok(listing) = root.list(shown, NAMES) else {
            continue;
        };
        let ignored = IgnoreRules::load(root, &folder, above);
        let mut deeper = Vec::new();
        for entry in listing.entries {
            let is_folder = entry.kind == PathKind::Folder;
            let path = if folder.is_empty() {
                entry.name.clone()
            } else {
                format!("{folder}/{}", entry.name)
            };
            if entry.name == ".git" || ignored.is_ignored(&path, is_folder) {
                continue;
            }
            if is_folder {
                deeper.push((path, Some(Arc::clone(&ignored))));
                continue;
            }
            let is_over = stop.load(Ordering::Relaxed)
                || entry.kind == PathKind::File && visit(&path).is_break();
            if is_over {
                return Ok(());
            }
        }
        waiting.extend(deeper.into_iter().rev());
    }
    Ok(())
}

/// The rules of the folders above the one where the walk begins.
fn rules_above(root: &Root, start: &str) -> Option<Arc<IgnoreRules>> {
    let mut above = None;
    if start.is_empty() || start.split('/').any(|part| part == "..") {
        return None;
    }
    let ends = start.match_indices('/').map(|(at, _)| at);
    for end in std::iter::once(0).chain(ends) {
        above = Some(IgnoreRules::load(root, &start[..end], above));
    }
    above
}
