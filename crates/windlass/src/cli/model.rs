//! `windlass model`: serves a model that answers from a script or a recording.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use windlass_scripted::{RunningModel, Script, ScriptedModel};
use windlass_testkit::read_cassette;

use super::app::App;
use super::console::{BAD, QUIET};
use super::exit::{CliError, Exit};
use super::interrupt::Interrupts;
use super::masking;

#[derive(Debug, Args)]
pub(super) struct Model {
    /// Script with the responses; docs/testing-with-scripts.md describes the format
    #[arg(long, value_name = "FILE", required_unless_present = "cassette")]
    script: Option<PathBuf>,
    /// Answer from this cassette instead of a script
    #[arg(long, value_name = "FILE", conflicts_with = "script")]
    cassette: Option<PathBuf>,
    /// Record every request and response as a cassette
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Address to listen on, loopback only; port 0 selects a free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Print the final report as JSON
    #[arg(long)]
    json: bool,
}

impl Model {
    /// Serves until it is interrupted. It fails if an unexpected request was received or a turn was not used.
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let console = *app.console;
        let mut model = self.model()?.on_exchange(move |exchange| {
            let style = if exchange.is_unexpected() { BAD } else { QUIET };
            console.progress(style, &exchange.to_string());
        });
        if self.record.is_some() {
            model = model.recording();
        }
        let mut interrupts = Interrupts::listen()?;
        let listening = model.listen(self.listen).await;
        let running = listening.map_err(|error| CliError::usage(error.to_string()))?;
        console.progress(
            QUIET,
            &format!("listening on {}; press Ctrl-C to stop", running.url()),
        );
        interrupts.next().await;
        if let Some(file) = &self.record {
            write_cassette(app, &running, file)?;
        }
        let report = running.stop().await;
        if self.json {
            console.pretty_json(&with_old_names(&report))?;
        } else {
            console.line(&windlass_core::escape_control(&report.to_string()))?;
        }
        Ok(if report.is_clean() {
            Exit::Done
        } else {
            Exit::Failed
        })
    }

    fn model(&self) -> Result<ScriptedModel, CliError> {
        if let Some(cassette) = &self.cassette {
            return Ok(ScriptedModel::from_cassette(&read_cassette(cassette)?));
        }
        let script = self.script.as_deref().unwrap_or(Path::new(""));
        let script = Script::read(script).map_err(|error| CliError::usage(error.to_string()))?;
        Ok(ScriptedModel::new(script))
    }
}

/// Returns the report as JSON, with the old names `news` and `unmet` for one more release.
fn with_old_names(report: &impl Serialize) -> Value {
    let mut report = serde_json::to_value(report).unwrap_or_default();
    let requests = report["unexpected_requests"].as_array_mut();
    for request in requests.into_iter().flatten() {
        request["news"] = request["prompt"].clone();
    }
    report["unmet"] = report["unused_turns"].clone();
    report
}

/// Writes the recorded exchanges.
fn write_cassette(app: &App<'_>, running: &RunningModel, file: &Path) -> Result<(), CliError> {
    let substitutions = masking::substitutions(&app.inputs, app.config()?);
    let Some(cassette) = running.cassette(&substitutions) else {
        return Ok(());
    };
    let failed = |problem: String| CliError::failed(format!("{}: {problem}", file.display()));
    let text = cassette.map_err(|error| failed(error.to_string()))?;
    std::fs::write(file, text).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn report_has_old_names() {
        let report = json!({
            "unexpected_requests": [{ "prompt": "hello" }],
            "unused_turns": [2],
        });
        let printed = super::with_old_names(&report);
        assert_eq!(printed["unexpected_requests"][0]["news"], "hello");
        assert_eq!(printed["unmet"], json!([2]));
    }
}
