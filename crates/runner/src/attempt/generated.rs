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

    /// Returns the first existing file that was not shown to the model.
    pub(super) fn unseen(&self, shown: &[FileExcerpt]) -> Option<&str> {
        let mut replaced = self
            .files
            .iter()
            .filter(|file| file.action == FileAction::Modify);
        let file = replaced.find(|file| shown.iter().all(|shown| shown.path != file.path))?;
        Some(&file.path)
    }
}
