//! The files that a model returned.

use serde::Deserialize;
use windlass_tasks::{FileAction, FileChange, WorkingCopy};

use super::AttemptResult;
use super::prompts::FileExcerpt;

/// Maximum size of a file that is read.
const MAX_FILE_BYTES: usize = 1 << 20;

/// The answer of a model that returns files.
#[derive(Deserialize)]
pub(super) struct GeneratedFiles {
    #[serde(default)]
    pub(super) error_analysis: Option<String>,
    #[serde(default, alias = "fix_description")]
    pub(super) explanation: String,
    pub(super) files: Vec<FileChange>,
}

impl GeneratedFiles {
    /// Corrects the actions: small models confuse creating a file with modifying it.
    pub(super) async fn choose_actions(
        &mut self,
        working_copy: &dyn WorkingCopy,
    ) -> AttemptResult<()> {
        for file in &mut self.files {
            let is_there = working_copy.read(&file.path, MAX_FILE_BYTES).await?;
            file.action = match (file.action, is_there.is_some()) {
                (FileAction::Create, true) => FileAction::Modify,
                (FileAction::Modify, false) => FileAction::Create,
                (action, _) => action,
            };
        }
        Ok(())
    }

    /// Returns the problem of the files of a small model: one that exists and was not shown to it, or a diff instead of
    /// a content.
    pub(super) fn problem(&self, shown: &[FileExcerpt]) -> Option<String> {
        let is_shown = |path: &str| shown.iter().any(|shown| shown.path == path);
        self.files.iter().find_map(|file| {
            let path = &file.path;
            if file.action == FileAction::Modify && !is_shown(path) {
                return Some(format!(
                    "{path} exists and was not shown, so its content must stay"
                ));
            }
            is_diff(file).then(|| {
                format!("the content of {path} is a diff, and must be the complete new file")
            })
        })
    }
}

/// Returns `true` if the content is a diff, although the file is not.
fn is_diff(file: &FileChange) -> bool {
    let content = file.content.trim_start();
    let is_headed = content.starts_with("diff --git ")
        || (content.starts_with("--- ")
            && content
                .lines()
                .nth(1)
                .is_some_and(|line| line.starts_with("+++ ")));
    is_headed && !file.path.ends_with(".diff") && !file.path.ends_with(".patch")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unseen_files_and_diffs_are_problems() {
        let problem = |action: FileAction, path: &str, content: &str| {
            let file = FileChange {
                path: path.to_owned(),
                action,
                content: content.to_owned(),
            };
            let generated = GeneratedFiles {
                error_analysis: None,
                explanation: String::new(),
                files: vec![file],
            };
            let shown = FileExcerpt {
                path: "a.py".to_owned(),
                text: String::new(),
            };
            generated.problem(&[shown])
        };
        let diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(problem(FileAction::Modify, "a.py", "--- 1\nb = 2\n"), None);
        assert_eq!(problem(FileAction::Create, "fix.patch", diff), None);
        for content in [diff, "diff --git a/a.py b/a.py\n"] {
            assert_eq!(
                problem(FileAction::Modify, "a.py", content).unwrap(),
                "the content of a.py is a diff, and must be the complete new file"
            );
        }
        assert_eq!(
            problem(FileAction::Modify, "b.py", "b = 1\n").unwrap(),
            "b.py exists and was not shown, so its content must stay"
        );
    }
}
