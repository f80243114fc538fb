//! Lets a person edit the file of a review. What they wrote is never lost.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use windlass_sandbox::run_on_terminal;
use windlass_tasks::{AttemptNumber, TaskId};

use super::super::app::App;
use super::super::exit::CliError;
use crate::config::private_dir::PrivateDir;

/// Maximum size of the edited file.
const MAX_BYTES: u64 = 16 << 20;

/// The file of a review, until the review is submitted.
pub(super) struct ReviewFile {
    path: PathBuf,
    /// What the file contained at first.
    template: String,
}

impl ReviewFile {
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
        let Some(editor) = editor(|name| std::env::var_os(name)) else {
            return Err(CliError::usage(
                "no editor: set VISUAL or EDITOR, or use --comment, --approve or --request-changes",
            ));
        };
        // The value may have arguments, as for git.
        let mut script = editor;
        script.push(" \"$@\"");
        let args = vec![
            OsString::from("-c"),
            script,
            OsString::from("sh"),
            self.path.clone().into_os_string(),
        ];
        let dir = self.path.parent().unwrap_or(Path::new("/"));
        let ended = run_on_terminal("sh", args, dir).await;
        let status = ended.map_err(|error| self.kept(&format!("the editor failed: {error}")))?;
        let text = self.read()?;
        if !status.success() {
            return Err(self.kept(&format!("the editor ended with {status}")));
        }
        Ok((text != self.template).then_some(text))
    }

    fn read(&self) -> Result<String, CliError> {
        let mut text = String::new();
        let read = std::fs::File::open(&self.path)
            .and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text));
        read.map_err(|error| self.kept(&format!("the file cannot be read: {error}")))?;
        Ok(text)
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

/// Returns the editor of the user.
fn editor(variable: impl Fn(&str) -> Option<OsString>) -> Option<OsString> {
    ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(variable)
        .find(|value| !value.is_empty())
}
