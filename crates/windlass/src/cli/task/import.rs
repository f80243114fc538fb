//! `windlass task import`: adds the tasks of a file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

use clap::Args;
use serde_json::json;
use windlass_core::escape_line;
use windlass_tasks::{Dependency, NewTask, ProjectId, Task, TaskFilter, TaskId, TaskStore};

use super::super::app::App;
use super::super::console::{QUIET, STRONG};
use super::super::exit::{CliError, Exit};
use super::super::queue::ProjectQueue;
use crate::task_file::{self, FileTask, MAX_FILE_BYTES};

#[derive(Debug, Args)]
#[command(
    after_help = "Formats: a Markdown check list (- [ ] title; indented text is the description; an item waits for \
    the items nested in it), JSON lines (the fields of a task), and the output of \
    gh issue view|list --json number,title,body,labels,url. \
    Importing again adds only what is new."
)]
pub(super) struct Import {
    /// File to read; - reads stdin
    file: String,
    /// Agent for tasks that name none (default: the configured agent)
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// Dry run: print the tasks without adding them
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A task of the file, and the stored one if there is one.
struct Imported {
    entry: FileTask,
    stored: Option<Task>,
    is_new: bool,
}

impl Import {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let text = self.read(app)?;
        let source = self.source(app);
        let entries = task_file::parse(&text, &source, queue.project.id)
            .map_err(|why| CliError::usage(format!("{}: {why}", self.file)))?;
        let known = known_tasks(&*queue.store, queue.project.id).await?;
        let mut imported: Vec<Imported> = entries
            .into_iter()
            .map(|entry| Imported {
                stored: known.get(&entry.key).cloned(),
                is_new: false,
                entry,
            })
            .collect();
        if !self.dry_run {
            self.add(&queue, &mut imported).await?;
        }
        self.show(app, &imported)?;
        Ok(Exit::Done)
    }

    /// Adds what is not stored yet, all or nothing.
    async fn add(&self, queue: &ProjectQueue, imported: &mut [Imported]) -> Result<(), CliError> {
        let new: Vec<usize> = (0..imported.len())
            .filter(|at| imported[*at].stored.is_none())
            .collect();
        let positions: BTreeMap<usize, usize> =
            new.iter().enumerate().map(|(at, own)| (*own, at)).collect();
        let resolve = |on: &Dependency| match on {
            Dependency::Sibling(at) => match (&imported[*at].stored, positions.get(at)) {
                (Some(task), _) => Dependency::Task(task.id),
                (None, Some(at)) => Dependency::Sibling(*at),
                (None, None) => *on,
            },
            Dependency::Task(_) => *on,
        };
        let tasks: Vec<NewTask> = new
            .iter()
            .map(|at| {
                let FileTask { key, task, .. } = &imported[*at].entry;
                NewTask {
                    dependencies: task.dependencies.iter().map(resolve).collect(),
                    agent: task.agent.clone().or_else(|| self.agent.clone()),
                    idempotency_key: Some(key.clone()),
                    ..task.clone()
                }
            })
            .collect();
        if tasks.is_empty() {
            return Ok(());
        }
        let added = queue.store.enqueue(tasks).await?;
        for (at, added) in new.into_iter().zip(added) {
            imported[at].is_new = added.fresh;
            imported[at].stored = Some(added.task);
        }
        Ok(())
    }

    fn read(&self, app: &App<'_>) -> Result<String, CliError> {
        let mut text = String::new();
        let read = |input: &mut dyn Read, text: &mut String| {
            let mut input = input.take(MAX_FILE_BYTES + 1);
            input.read_to_string(text)
        };
        let result = if self.file == "-" {
            read(&mut std::io::stdin().lock(), &mut text)
        } else {
            File::open(app.inputs.cwd.join(&self.file))
                .and_then(|mut file| read(&mut file, &mut text))
        };
        let failed = |error| CliError::usage(format!("{} cannot be read: {error}", self.file));
        result.map_err(failed)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(CliError::usage(format!(
                "{} has more than {} MiB: split it",
                self.file,
                MAX_FILE_BYTES >> 20
            )));
        }
        Ok(text)
    }

    /// Returns the name of the file for the keys of its tasks.
    fn source(&self, app: &App<'_>) -> String {
        if self.file == "-" {
            return "-".to_owned();
        }
        let path = app.inputs.cwd.join(&self.file);
        let path = path.canonicalize().unwrap_or(path);
        path.to_string_lossy().into_owned()
    }

    fn show(&self, app: &App<'_>, imported: &[Imported]) -> Result<(), CliError> {
        if self.json {
            let entries: Vec<_> = imported.iter().map(entry).collect();
            app.console.pretty_json(&entries)?;
            return Ok(());
        }
        for (index, found) in imported.iter().enumerate() {
            let (number, note) = match (&found.stored, found.is_new) {
                (Some(task), true) => (task.id.to_string(), ""),
                (Some(task), false) => (task.id.to_string(), "  exists"),
                (None, _) => (format!("#{}", index + 1), "  would be added"),
            };
            let title = escape_line(&found.entry.task.title);
            app.console.line(&format!(
                "{STRONG}{number:>4}{STRONG:#}  {title}{QUIET}{note}{}{QUIET:#}",
                after(found)
            ))?;
        }
        Ok(())
    }
}

/// Formats what a task waits for.
fn after(found: &Imported) -> String {
    let on: Vec<String> = match &found.stored {
        Some(task) => task.dependencies.iter().map(TaskId::to_string).collect(),
        None => {
            let on = found.entry.task.dependencies.iter();
            on.map(|on| match on {
                Dependency::Task(id) => id.to_string(),
                Dependency::Sibling(at) => format!("#{}", at + 1),
            })
            .collect()
        }
    };
    match on.as_slice() {
        [] => String::new(),
        on => format!("  after {}", on.join(", ")),
    }
}

fn entry(found: &Imported) -> serde_json::Value {
    json!({
        "line": found.entry.line,
        "title": found.entry.task.title,
        "key": found.entry.key,
        "added": found.is_new,
        "task": found.stored,
    })
}

/// Returns the tasks of a project that have a key, by key.
async fn known_tasks(
    store: &dyn TaskStore,
    project: ProjectId,
) -> Result<BTreeMap<String, Task>, CliError> {
    let mut known = BTreeMap::new();
    let mut filter = TaskFilter {
        project_id: Some(project),
        ..TaskFilter::default()
    };
    loop {
        let page = store.tasks(filter.clone()).await?;
        let Some(last) = page.last() else {
            return Ok(known);
        };
        filter.after = Some(last.id);
        for task in page {
            if let Some(key) = task.idempotency_key.clone() {
                known.insert(key, task);
            }
        }
    }
}
