//! `windlass config`: shows the effective settings and their origin.

use clap::Args;
use serde_json::{Value, json};

use super::app::App;
use super::exit::{CliError, Exit};
use super::table::{self, Cell};

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
            let entries: Vec<Value> = entries
                .into_iter()
                .map(|entry| {
                    // A redacted value is not JSON.
                    let value = serde_json::from_str(&entry.value).unwrap_or(json!(entry.value));
                    json!({ "key": entry.key, "value": value, "origin": entry.origin })
                })
                .collect();
            app.console.pretty_json(&entries)?;
            return Ok(Exit::Done);
        }
        let cells: Vec<[Cell; 3]> = entries
            .into_iter()
            .map(|entry| [entry.key, entry.origin.to_string(), entry.value].map(Cell::from))
            .collect();
        table::print(app.console, ["key", "source", "value"], &cells)?;
        Ok(Exit::Done)
    }
}
