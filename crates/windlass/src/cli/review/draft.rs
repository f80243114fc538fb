//! The text of a review that a person writes in an editor. What they wrote is never lost.

use std::path::{Path, PathBuf};

use windlass_tasks::{AttemptNumber, TaskId};

use super::super::app::App;
use super::super::editor;
use super::super::exit::CliError;
use crate::config::private_dir::PrivateDir;

/// The file of a review, until the review is submitted.
pub(super) struct ReviewDraft {
    path: PathBuf,
    /// What the file contained at first.
    template: String,
}

impl ReviewDraft {
    /// Creates the file, unless there is one of the same version from an earlier try.
    pub(super) fn create(
        app: &App<'_>,
        (store, task, version): (&str, TaskId, AttemptNumber),
        template: String,
    ) -> Result<Self, CliError> {
        let state = app
            .inputs
            .state_dir()
            .ok_or_else(|| CliError::usage("no state directory: set HOME or XDG_STATE_HOME"))?;
        let dir = state.join("reviews");
        let name = format!("{store}-task-{task}-version-{version}.diff");
        let path = dir.join(&name);
        let private = PrivateDir::lock(&dir)?;
        if !path.exists() {
            private.replace(&name, &template)?;
        }
        Ok(Self { path, template })
    }

    /// Opens the editor, and returns what the file contains then. `None` if nothing was written.
    pub(super) async fn edit(&self) -> Result<Option<String>, CliError> {
        if editor::configured().is_none() {
            return Err(CliError::usage(
                "no editor: set VISUAL or EDITOR, or use --comment, --approve or --request-changes",
            ));
        }
        let dir = self.path.parent().unwrap_or(Path::new("/"));
        let opened = editor::open(&self.path, dir).await;
        opened.map_err(|error| self.kept(&error.to_string()))?;
        let text = editor::read(&self.path).map_err(|error| self.kept(&error.to_string()))?;
        Ok((text != self.template).then_some(text))
    }

    /// Returns an error that says where the text is.
    pub(super) fn kept(&self, why: &str) -> CliError {
        CliError::usage(format!(
            "{why}; nothing was submitted, and your text is in {}",
            self.path.display()
        ))
    }

    /// Removes the file after its text was submitted, or if nothing was written.
    pub(super) fn remove(self) {
        // If it stays, the next review of this version begins with it.
        let _ = std::fs::remove_file(&self.path);
    }
}
