//! `windlass store backup`, `restore` and `check`, and `store move --to`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use windlass_core::escape_line;
use windlass_store::StoreSummary;

use super::repository_file::is_in_use;
use crate::cli::app::App;
use crate::cli::exit::{CliError, Exit};
use crate::cli::repository::repository;

/// Returns the URL of the configured store.
pub(super) async fn url(app: &App<'_>) -> Result<String, CliError> {
    let config = app.config()?;
    super::locate(app, config, &repository(&app.inputs.cwd)?).await
}

#[derive(Debug, Args)]
pub(super) struct Backup {
    /// File to create; it must not exist
    file: PathBuf,
    /// Print JSON: the number of rows of each table, and a digest of them
    #[arg(long)]
    json: bool,
}

impl Backup {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let file = app.inputs.cwd.join(&self.file);
        let summary = windlass_store::backup(&url(app).await?, &file).await?;
        print(app, "backed up", &summary, self.json)
    }
}

#[derive(Debug, Args)]
pub(super) struct Restore {
    /// File that windlass store backup created
    file: PathBuf,
    /// Store to write to, which must be empty: sqlite:FILE or postgres://… (default: the configured store)
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// Print JSON: the number of rows of each table, and a digest of them
    #[arg(long)]
    json: bool,
}

impl Restore {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let file = app.inputs.cwd.join(&self.file);
        let target = match self.to {
            Some(target) => absolute(app, target),
            None => url(app).await?,
        };
        let summary = windlass_store::restore(&target, &file).await?;
        print(app, "restored", &summary, self.json)
    }
}

/// Makes the path of a SQLite URL absolute.
fn absolute(app: &App<'_>, url: String) -> String {
    match url.strip_prefix("sqlite:") {
        Some(path) => format!("sqlite:{}", app.inputs.cwd.join(path).display()),
        None => url,
    }
}

fn print(
    app: &App<'_>,
    what: &str,
    summary: &StoreSummary,
    as_json: bool,
) -> Result<Exit, CliError> {
    if as_json {
        app.console.pretty_json(summary)?;
    } else {
        let tasks = summary.tables.get("task").map_or(0, |table| table.rows);
        let rows = summary.rows();
        app.console
            .line(&format!("{what} {tasks} tasks, {rows} records in all"))?;
    }
    Ok(Exit::Done)
}

#[derive(Debug, Args)]
pub(super) struct Check {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let problems = windlass_store::check(&url(app).await?).await?;
        if self.json {
            app.console.pretty_json(&problems)?;
        } else if problems.is_empty() {
            app.console.line("the store is consistent")?;
        } else {
            for problem in &problems {
                let (rule, count) = (&problem.rule, problem.count);
                let example = escape_line(&problem.example);
                app.console.line(&format!(
                    "broken: {rule} ({count} records, such as {example})"
                ))?;
            }
        }
        Ok(if problems.is_empty() {
            Exit::Done
        } else {
            Exit::Failed
        })
    }
}

/// Copies the SQLite store to another one, compares both, and renames the file, so that no process uses it.
pub(super) async fn move_to(app: &App<'_>, target: String, json: bool) -> Result<Exit, CliError> {
    let (source, target) = (url(app).await?, absolute(app, target));
    let Some(path) = source.strip_prefix("sqlite:").map(PathBuf::from) else {
        return Err(CliError::usage(
            "only a SQLite store can be moved: use windlass store backup, and windlass store restore --to URL",
        ));
    };
    reject_in_use(&path)?;
    let scratch = tempfile::tempdir_in(path.parent().unwrap_or(Path::new(".")))
        .map_err(|error| CliError::failed(format!("cannot copy {}: {error}", path.display())))?;
    let copy = scratch.path().join("store");
    let copied = windlass_store::backup(&source, &copy).await?;
    windlass_store::restore(&target, &copy).await?;
    // A process that was started meanwhile may have written to it.
    reject_in_use(&path)?;
    if windlass_store::summarize(&source).await? != copied {
        return Err(CliError::failed(format!(
            "{} was changed while it was copied: remove the copy, stop all workers and servers, and repeat the command",
            path.display()
        )));
    }
    let kept = path.with_added_extension("moved");
    std::fs::rename(&path, &kept)
        .map_err(|error| CliError::failed(format!("cannot rename {}: {error}", path.display())))?;
    if json {
        let output = json!({"tables": copied, "kept": kept});
        app.console.pretty_json(&output)?;
        return Ok(Exit::Done);
    }
    print(app, "moved", &copied, false)?;
    let kept = escape_line(&kept.display().to_string()).into_owned();
    app.console.line(&format!(
        "set store.url to the new store on every machine; the old file is kept as {kept}"
    ))?;
    Ok(Exit::Done)
}

fn reject_in_use(path: &Path) -> Result<(), CliError> {
    let memory = path.with_file_name(format!(
        "{}-shm",
        path.file_name().unwrap_or_default().to_string_lossy()
    ));
    match is_in_use(&memory) {
        Ok(false) => Ok(()),
        Ok(true) => Err(CliError::usage(format!(
            "{} is used by another process: stop the workers and the server, then repeat the command",
            path.display()
        ))),
        Err(error) => Err(CliError::failed(format!("{}: {error}", memory.display()))),
    }
}
