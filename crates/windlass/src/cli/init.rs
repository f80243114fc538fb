//! `windlass init`: writes a windlass.toml.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};

use clap::Args;

use super::agents::{self, Health};
use super::app::App;
use super::exit::{CliError, Exit};
use super::trust;
use crate::config::SourceFile;

/// The file's name.
const FILE: &str = "windlass.toml";

#[derive(Debug, Args)]
pub(super) struct Init {
    /// Overwrite an existing windlass.toml
    #[arg(long)]
    force: bool,
}

impl Init {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let path = app.inputs.cwd.join(FILE);
        let rows = agents::rows(app).await?;
        let healthy = rows.iter().filter(|row| row.health == Health::Ok);
        let text = text(&healthy.map(|row| row.backend.as_str()).collect::<Vec<_>>());
        self.write(&path, &text)
            .map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => CliError::usage(format!(
                    "{} already exists: edit it, or pass --force to replace it",
                    path.display()
                )),
                _ => CliError::failed(format!("{} cannot be written: {error}", path.display())),
            })?;
        app.console.line(&format!("wrote {}", path.display()))?;
        // Trust the file: Windlass wrote it.
        trust::open(app)?.trust(&SourceFile::read(&path)?)?;
        Ok(Exit::Done)
    }

    /// Writes the file without following a symbolic link.
    fn write(&self, path: &std::path::Path, text: &str) -> std::io::Result<()> {
        if self.force {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all(text.as_bytes())
    }
}

/// Returns a configuration with every available agent; the first is the default.
fn text(backends: &[&str]) -> String {
    let mut text =
        String::from("# All keys: docs/configuration.md. Effective settings: windlass config\n");
    if let Some(first) = backends.first() {
        text.push_str(&format!("default_agent = \"{first}\"\n"));
    }
    for backend in backends {
        text.push_str(&format!(
            "\n[agents.{backend}]\nbackend = \"{backend}\"\ntimeout_secs = 600\n"
        ));
    }
    text
}
