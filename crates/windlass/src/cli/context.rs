//! `windlass context` and `windlass index`: what a task is about.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use windlass_index::{CodebaseContext, Related};

use super::app::App;
use super::console::{QUIET, STRONG};
use super::exit::{CliError, Exit};
use super::prompt_text;
use crate::git_history::GitHistory;
use crate::registry;

#[derive(Debug, Args)]
pub(super) struct Context {
    /// Look at this folder
    #[arg(long, value_name = "DIR", default_value = ".")]
    cwd: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The task in words; a file that holds it, or - for stdin
    task: String,
}

#[derive(Debug, Args)]
pub(super) struct Index {
    /// Look at this folder
    #[arg(long, value_name = "DIR", default_value = ".")]
    cwd: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Context {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let root = folder(&self.cwd)?;
        let task = read_task_text(self.task)?;
        let codebase = codebase(app).await;
        let related = codebase.related(&root, &task).await?;
        if self.json {
            app.console.value(&related)?;
        } else {
            show(app, &related)?;
        }
        Ok(Exit::Done)
    }
}

impl Index {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let root = folder(&self.cwd)?;
        let index = codebase(app).await.open(&root).await?;
        let (refresh, symbols) = (index.last_refresh(), index.symbol_count());
        if self.json {
            app.console.value(&json!({
                "files": refresh.files,
                "symbols": symbols,
                "commits": index.commit_count(),
                "parsed": refresh.parsed,
                "removed": refresh.removed,
                "left_out": refresh.left_out,
            }))?;
        } else {
            app.console.line(&format!(
                "{} files with {symbols} symbols, {} commits; {} files parsed now, {} gone, {} left out",
                refresh.files,
                index.commit_count(),
                refresh.parsed,
                refresh.removed,
                refresh.left_out,
            ))?;
        }
        Ok(Exit::Done)
    }
}

/// The index with what this machine has: a place for its cache, and git's history if git can be run safely.
async fn codebase(app: &App<'_>) -> CodebaseContext {
    let codebase = match app.inputs.cache_dir() {
        Some(folder) => CodebaseContext::new(folder.join("index")),
        None => CodebaseContext::without_cache(),
    };
    match registry::sandbox(&app.inputs).await {
        Ok(sandbox) => codebase.with_history(GitHistory::new(sandbox)),
        Err(_) => codebase,
    }
}

/// The folder as its whole path: what is cached is cached under it.
fn folder(path: &Path) -> Result<PathBuf, CliError> {
    let problem = match path.canonicalize() {
        Ok(folder) if folder.is_dir() => return Ok(folder),
        Ok(_) => "is a file".to_owned(),
        Err(error) => format!("cannot be opened: {error}"),
    };
    let path = path.display();
    Err(CliError::usage(format!(
        "the folder {path} {problem}: pass another with --cwd"
    )))
}

/// The task that an argument means: what a file of that name holds, standard input for `-`, or itself.
fn read_task_text(task: String) -> Result<String, CliError> {
    if task != "-" && Path::new(&task).is_file() {
        let file = File::open(&task)
            .map_err(|error| CliError::usage(format!("{task} cannot be read: {error}")))?;
        return prompt_text::read("-".to_owned(), file);
    }
    prompt_text::read(task, std::io::stdin())
}

fn show(app: &App<'_>, related: &Related) -> Result<(), CliError> {
    let line = |text: String| windlass_core::escape_line(&text).into_owned();
    if related.files.is_empty() {
        app.console.line("nothing here has to do with that")?;
    }
    for file in &related.files {
        let (path, why) = (line(file.path.clone()), line(file.why.clone()));
        app.console
            .line(&format!("{STRONG}{path}{STRONG:#}  {QUIET}{why}{QUIET:#}"))?;
    }
    for symbol in &related.symbols {
        let place = line(format!("{}:{}", symbol.path, symbol.line));
        let what = line(format!("{} {}", symbol.kind, symbol.name));
        let why = line(symbol.why.clone());
        app.console
            .line(&format!("  {what}  {place}  {QUIET}{why}{QUIET:#}"))?;
    }
    Ok(())
}
