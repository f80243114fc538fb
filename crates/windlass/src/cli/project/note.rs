//! `windlass project note`: the note that every agent receives.

use clap::Args;
use serde_json::json;

use super::super::app::App;
use super::super::editor;
use super::super::exit::{CliError, Exit};
use super::super::prompt_text;
use super::super::queue::ProjectQueue;

#[derive(Debug, Args)]
pub(super) struct Note {
    /// New note; - reads it from stdin. Without it, the note is printed
    text: Option<String>,
    /// Edit the note in $EDITOR
    #[arg(long, conflicts_with = "text")]
    edit: bool,
    /// Remove the note
    #[arg(long, conflicts_with_all = ["text", "edit"])]
    clear: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Note {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let (store, project) = (&queue.store, queue.project.id);
        let text = match self.text {
            Some(text) => Some(prompt_text::read(text, std::io::stdin())?),
            None if self.clear => Some(String::new()),
            None if self.edit => {
                let before = store.project_note(project).await?;
                let keep = |text: &str| Ok(text.trim().to_owned());
                match editor::edit(app, "note.md", &before, keep).await? {
                    Some(text) => Some(text),
                    None => return Ok(editor::unchanged(app)),
                }
            }
            None => None,
        };
        if let Some(text) = text {
            store.set_project_note(project, text).await?;
        }
        let note = store.project_note(project).await?;
        if self.json {
            app.console.json(&json!({ "note": note }))?;
        } else if note.is_empty() {
            app.console
                .line("no note; set one with: windlass project note TEXT")?;
        } else {
            app.console.text(&format!("{}\n", note.trim_end()))?;
        }
        Ok(Exit::Done)
    }
}
