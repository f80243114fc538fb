//! `windlass context` and `windlass index`: rank files and symbols for a task; update the code index.

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
    /// Directory to index
    #[arg(long, value_name = "DIR", default_value = ".")]
    cwd: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Task description, or a file that contains it; - reads it from stdin
    task: String,
}

#[derive(Debug, Args)]
pub(super) struct Index {
    /// Directory to index
    #[arg(long, value_name = "DIR", default_value = ".")]
    cwd: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Context {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let root = canonical_dir(&self.cwd)?;
        let task = read_task_text(self.task)?;
        let codebase = codebase(app).await?;
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
        let root = canonical_dir(&self.cwd)?;
        let index = codebase(app).await?.open(&root).await?;
        let (refresh, symbols) = (index.last_refresh(), index.symbol_count());
        if self.json {
            app.console.value(&json!({
                "files": refresh.files,
                "symbols": symbols,
                "commits": index.commit_count(),
                "parsed": refresh.parsed,
                "removed": refresh.removed,
                "skipped": refresh.skipped,
                // The old name, for one more release.
                "left_out": refresh.skipped,
            }))?;
        } else {
            app.console.line(&format!(
                "{} files, {symbols} symbols, {} commits; {} parsed, {} removed, {} skipped",
                refresh.files,
                index.commit_count(),
                refresh.parsed,
                refresh.removed,
                refresh.skipped,
            ))?;
        }
        Ok(Exit::Done)
    }
}

/// Creates the index with its cache directory, and with git's history if a sandbox is available to run git.
async fn codebase(app: &App<'_>) -> Result<CodebaseContext, CliError> {
    let codebase = match app.inputs.cache_dir() {
        Some(dir) => CodebaseContext::new(dir.join("index")),
        None => CodebaseContext::without_cache(),
    };
    Ok(match registry::sandbox(app.config()?).await {
        Ok(sandbox) => codebase.with_history(GitHistory::new(sandbox)),
        Err(_) => codebase,
    })
}

/// Returns the canonical path of a directory, which is also its key in the cache.
fn canonical_dir(path: &Path) -> Result<PathBuf, CliError> {
    let problem = match path.canonicalize() {
        Ok(dir) if dir.is_dir() => return Ok(dir),
        Ok(_) => "is a file".to_owned(),
        Err(error) => format!("cannot be opened: {error}"),
    };
    let path = path.display();
    Err(CliError::usage(format!(
        "the directory {path} {problem}: pass another with --cwd"
    )))
}

/// Reads the task text: from the file of that name, from stdin for `-`, or the argument itself.
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
        app.console.line("no relevant files found")?;
    }
    for file in &related.files {
        let (path, why) = (line(file.path.clone()), line(file.why.clone()));
        app.console
            .line(&format!("{STRONG}{path}{STRONG:#}  {QUIET}{why}{QUIET:#}"))?;
    }
    for symbol in &related.symbols {
        let location = line(format!("{}:{}", symbol.path, symbol.line));
        let name = line(format!("{} {}", symbol.kind, symbol.name));
        let why = line(symbol.why.clone());
        app.console
            .line(&format!("  {name}  {location}  {QUIET}{why}{QUIET:#}"))?;
    }
    Ok(())
}
