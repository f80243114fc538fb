//! `windlass trust`: trusts the project's windlass.toml and .env.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::app::App;
use super::console::STRONG;
use super::exit::{CliError, Exit};
use crate::config::trust::{self, TrustStore};
use crate::config::{Notice, SourceFile};

#[derive(Debug, Args)]
pub(super) struct Trust {
    /// Files to trust (default: the project's windlass.toml and .env)
    files: Vec<PathBuf>,
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,
    /// Revoke trust
    #[arg(long)]
    revoke: bool,
    /// List trusted files
    #[arg(long, conflicts_with_all = ["files", "revoke"])]
    list: bool,
    /// Print the list as JSON
    #[arg(long, requires = "list")]
    json: bool,
}

impl Trust {
    pub(super) fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let mut store = open(app)?;
        if self.list && self.json {
            let files = store.list();
            let files = files.map(|(path, hash)| json!({ "file": path, "sha256": hash }));
            app.console.pretty_json(&files.collect::<Vec<_>>())?;
            return Ok(Exit::Done);
        }
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
                "no windlass.toml or .env found: run windlass init, or name the file",
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

/// Offers to trust files of the project that are not trusted, if there is a terminal. Returns `true` if the configuration
/// must be read again.
pub(super) fn offer(app: &App<'_>) -> Result<bool, CliError> {
    let Ok(config) = &app.config else {
        return Ok(false);
    };
    let mut trusted = false;
    for notice in config.notices() {
        let Notice::Untrusted { file, changed, .. } = notice else {
            continue;
        };
        if !app.console.can_ask() {
            continue;
        }
        let source = SourceFile::read(file)?;
        show(app, &source)?;
        let state = if *changed {
            "has changed since you trusted it"
        } else {
            "is not trusted"
        };
        let question = format!("This file {state}. Trust it now? [y/N] ");
        if app.console.confirm(&question)?.unwrap_or(false) {
            open(app)?.trust(&source)?;
            trusted = true;
        }
    }
    Ok(trusted)
}

/// Opens the list of trusted files.
pub(super) fn open(app: &App<'_>) -> Result<TrustStore, CliError> {
    let state = app
        .inputs
        .state_dir()
        .ok_or_else(|| CliError::usage("no state directory: set HOME or XDG_STATE_HOME"))?;
    Ok(TrustStore::load(&state)?)
}

/// Prints the settings of a file that need trust.
fn show(app: &App<'_>, source: &SourceFile) -> Result<(), CliError> {
    let settings = trust::summary(source)?;
    app.console
        .line(&format!("{STRONG}{} sets:{STRONG:#}", display_path(source)))?;
    for (key, value) in &settings {
        let line = format!("  {key} = {value}");
        app.console.line(&windlass_core::escape_line(&line))?;
    }
    if settings.is_empty() {
        app.console.line("  nothing that needs trust")?;
    }
    Ok(())
}

/// Asks the user for confirmation. Without a terminal, running the command is the confirmation.
fn confirm(app: &App<'_>) -> Result<bool, CliError> {
    let question = "Trust this file? Any change to it will ask again. [y/N] ";
    Ok(app.console.confirm(question)?.unwrap_or(true))
}

fn display_path(source: &SourceFile) -> String {
    windlass_core::escape_line(&source.path().to_string_lossy()).into_owned()
}
