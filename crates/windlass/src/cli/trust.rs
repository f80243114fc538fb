//! `windlass trust`: a person has read the project's files and lets them choose.

use std::io::{BufRead, IsTerminal, Read};
use std::path::PathBuf;

use clap::Args;

use super::app::App;
use super::console::STRONG;
use super::exit::{CliError, Exit};
use crate::config::SourceFile;
use crate::config::trust::{self, TrustStore};

#[derive(Debug, Args)]
pub(super) struct Trust {
    /// The files; without any, the project's windlass.toml and .env
    files: Vec<PathBuf>,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Take trust back
    #[arg(long)]
    revoke: bool,
    /// List what is trusted
    #[arg(long, conflicts_with_all = ["files", "revoke"])]
    list: bool,
}

impl Trust {
    pub(super) fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let mut store = open(app)?;
        if self.list {
            for (path, hash) in store.list() {
                let path = path.to_string_lossy();
                app.console
                    .line(&format!("{}  {}", hash, windlass_core::escape_line(&path)))?;
            }
            return Ok(Exit::Done);
        }
        let sources = self.sources(app)?;
        if sources.is_empty() {
            return Err(CliError::usage(
                "there is no windlass.toml and no .env here: run windlass init, or name the file",
            ));
        }
        for source in &sources {
            if self.revoke {
                store.revoke(source.path())?;
                app.console
                    .line(&format!("no longer trusted: {}", display_path(source)))?;
                continue;
            }
            show(app, source)?;
            if self.yes || confirm(app)? {
                store.trust(source)?;
                app.console
                    .line(&format!("trusted: {}", display_path(source)))?;
            } else {
                app.console
                    .line(&format!("not trusted: {}", display_path(source)))?;
            }
        }
        Ok(Exit::Done)
    }

    fn sources(&self, app: &App<'_>) -> Result<Vec<SourceFile>, CliError> {
        if self.files.is_empty() {
            return Ok(trust::candidates(&app.inputs)?);
        }
        let read = |file: &PathBuf| SourceFile::read(&app.inputs.cwd.join(file));
        Ok(self.files.iter().map(read).collect::<Result<_, _>>()?)
    }
}

/// The list of trusted files.
pub(super) fn open(app: &App<'_>) -> Result<TrustStore, CliError> {
    let folder = app.inputs.state_dir().ok_or_else(|| {
        CliError::usage("there is no place to remember trust: set HOME or XDG_STATE_HOME")
    })?;
    Ok(TrustStore::load(&folder)?)
}

/// Shows what a file would choose.
fn show(app: &App<'_>, source: &SourceFile) -> Result<(), CliError> {
    let chosen = trust::summary(source)?;
    app.console.line(&format!(
        "{STRONG}{} chooses:{STRONG:#}",
        display_path(source)
    ))?;
    for (key, value) in &chosen {
        let line = format!("  {key} = {value}");
        app.console.line(&windlass_core::escape_line(&line))?;
    }
    if chosen.is_empty() {
        app.console.line("  nothing that needs trust")?;
    }
    Ok(())
}

/// Whether the person at the terminal agrees. Where there is no person, the command itself is the agreement.
fn confirm(app: &App<'_>) -> Result<bool, CliError> {
    let stdin = std::io::stdin();
    if !(stdin.is_terminal() && app.console.is_interactive()) {
        return Ok(true);
    }
    app.console
        .text("Let it? A change of the file asks again. [y/N] ")?;
    let mut answer = String::new();
    stdin.lock().take(1024).read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn display_path(source: &SourceFile) -> String {
    windlass_core::escape_line(&source.path().to_string_lossy()).into_owned()
}
