//! `windlass task accept-setup`: writes the proposed test settings, and resumes the task that proposed them.

use std::fs;

use clap::Args;
use windlass_tasks::{TaskId, TaskStatus};
use windlass_workspace::proposed_settings;

use super::super::app::App;
use super::super::exit::{CliError, Exit};
use super::super::queue::ProjectQueue;
use super::super::remote;
use super::super::trust;
use super::list;
use crate::config::{ConfigPaths, SourceFile};

#[derive(Debug, Args)]
pub(super) struct AcceptSetup {
    /// Number of the blocked task
    id: TaskId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl AcceptSetup {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let task = queue.store.task(self.id).await?;
        let questions = queue.store.task_blockers(task.id).await?;
        let open = questions
            .into_iter()
            .rfind(|blocker| blocker.answer.is_none());
        let Some(question) = open.filter(|_| task.status == TaskStatus::Blocked) else {
            return Err(CliError::usage(format!(
                "task {} has no open question: it is {}",
                task.id, task.status
            )));
        };
        let root = remote::root_of(&*queue.store, &task).await?;
        // From the project's files, not from the question, which quotes the output of tests.
        let Some(settings) = proposed_settings(&root) else {
            return Err(CliError::usage(
                "the project's files suggest no set-up: set `[tests] setup` in windlass.toml",
            ));
        };
        write(app, &settings)?;
        let answer = format!("Accepted:\n\n{settings}");
        let task = queue.store.answer_blocker(question.id, answer).await?;
        if !self.json {
            app.console.line(&settings)?;
        }
        list::show_one(app, &task, self.json)
    }
}

/// Adds the settings to the file given with `--config`, else to the project's file, and trusts it.
fn write(app: &App<'_>, settings: &str) -> Result<(), CliError> {
    let named = app.inputs.file.clone();
    let is_named = named.is_some();
    let path = match named {
        Some(path) => path,
        None => ConfigPaths::find(&app.inputs)?.project,
    };
    let mut trusted = trust::open(app)?;
    let current = SourceFile::read_if_exists(&path)?;
    let is_untrusted = |source: &SourceFile| !is_named && !trusted.is_trusted(source);
    if current.as_ref().is_some_and(is_untrusted) {
        return Err(CliError::usage(format!(
            "{} is not trusted: run windlass trust first",
            path.display()
        )));
    }
    let text = current.as_ref().map_or("", SourceFile::text);
    let Some(text) = with_settings(text, settings) else {
        return Err(CliError::usage(format!(
            "{} already has some of these settings: change them there\n{settings}",
            path.display()
        )));
    };
    fs::write(&path, text)
        .map_err(|error| CliError::failed(format!("{}: {error}", path.display())))?;
    if !is_named {
        trusted.trust(&SourceFile::read(&path)?)?;
    }
    Ok(())
}

/// Returns the file with the settings, which are a `[tests]` table. `None` if it has one of them already.
fn with_settings(text: &str, settings: &str) -> Option<String> {
    const HEADER: &str = "[tests]";
    let new = settings.strip_prefix(HEADER)?.trim();
    let current: toml::Table = text.parse().ok()?;
    let table = current.get("tests").and_then(toml::Value::as_table);
    let Some(table) = table else {
        let gap = if text.is_empty() { "" } else { "\n" };
        return Some(format!("{text}{gap}{HEADER}\n{new}\n"));
    };
    let keys = new
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0.trim()));
    if keys.into_iter().any(|key| table.contains_key(key)) {
        return None;
    }
    let at = text.lines().position(|line| line.trim() == HEADER)?;
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(at + 1, new);
    Some(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_added_to_the_table_or_as_a_new_one() {
        let settings = "[tests]\nsetup = [\"npm\", \"ci\"]";
        let added = |text| with_settings(text, settings);
        assert_eq!(added("").unwrap(), format!("{settings}\n"));
        assert_eq!(added("a = 1\n").unwrap(), format!("a = 1\n\n{settings}\n"));
        assert_eq!(
            added("[tests]\nnetwork = true\n").unwrap(),
            format!("{settings}\nnetwork = true\n")
        );
        assert_eq!(added("[tests]\nsetup = [\"x\"]\n"), None);
    }
}
