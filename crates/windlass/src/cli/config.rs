//! `windlass config`: shows the effective settings and their origin.

use clap::Args;

use super::app::App;
use super::exit::{CliError, Exit};

#[derive(Debug, Args)]
pub(super) struct Show {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let entries = app.config()?.entries();
        if self.json {
            app.console.pretty_json(&entries)?;
            return Ok(Exit::Done);
        }
        let cells: Vec<[String; 3]> = entries
            .into_iter()
            .map(|entry| [entry.key, entry.value, entry.origin.to_string()])
            .collect();
        app.console.table(["key", "value", "source"], &cells)?;
        Ok(Exit::Done)
    }
}
