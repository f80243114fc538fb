//! What is known about a clone after its process died: where it came from, and what it keeps.

use std::path::{Path, PathBuf};

use windlass_tasks::AttemptRef;

use crate::error::Result;
use crate::git::{small_file, write};

/// The refs that keep changes, of all stores.
pub(crate) const KEPT_REFS: &str = "refs/windlass/";

/// Returns the ref that keeps the change of an attempt.
pub(crate) fn kept_ref(store: &str, attempt: AttemptRef) -> String {
    let AttemptRef { task, number } = attempt;
    format!("{KEPT_REFS}{store}/task-{task}/attempt-{number}")
}

/// Where an attempt's clone came from. Stored next to the clone, where no agent can write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CloneOrigin {
    /// The commit that the change is compared with.
    pub(crate) base: String,
    /// The tree that the attempt started with, if it is not the base's.
    pub(crate) start_tree: Option<String>,
    /// The ref that keeps the change.
    pub(crate) ref_name: String,
    /// The project's directory.
    pub(crate) root: PathBuf,
}

impl CloneOrigin {
    pub(crate) fn save(&self, file: &Path) -> Result<()> {
        let Self {
            base,
            start_tree,
            ref_name,
            root,
        } = self;
        let tree = start_tree.as_deref().unwrap_or_default();
        // The path is last, because it may contain anything.
        let text = format!("{base}\n{tree}\n{ref_name}\n{}", root.display());
        write(file, &text)
    }

    /// Reads what [`save`](Self::save) wrote.
    pub(crate) fn load(file: &Path) -> Option<Self> {
        let text = small_file(file)?;
        let mut lines = text.splitn(4, '\n').map(str::to_owned);
        Some(Self {
            base: lines.next()?,
            start_tree: lines.next().filter(|tree| !tree.is_empty()),
            ref_name: lines.next()?,
            root: lines.next()?.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("origin");
        for start_tree in [None, Some("tree".to_owned())] {
            let origin = CloneOrigin {
                base: "base".into(),
                start_tree,
                ref_name: "refs/windlass/a/task-1/attempt-1".into(),
                root: "/home/me/two\nlines ä".into(),
            };
            origin.save(&file).unwrap();
            assert_eq!(CloneOrigin::load(&file), Some(origin));
        }
        std::fs::write(&file, "base\n\nref").unwrap();
        assert_eq!(CloneOrigin::load(&file), None);
    }
}
