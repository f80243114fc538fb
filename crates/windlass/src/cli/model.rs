//! `windlass model`: serves a model that answers from a script or a recording.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use windlass_gateway::{RunningModel, Script, ScriptedModel};
use windlass_testkit::read_cassette;

use super::app::App;
use super::console::{BAD, QUIET};
use super::exit::{CliError, Exit};
use super::interrupt::Interrupts;
use super::masking;
use crate::config::Config;

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
            console.pretty_json(&report)?;
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

/// Writes the recorded exchanges.
fn write_cassette(app: &App<'_>, running: &RunningModel, file: &Path) -> Result<(), CliError> {
    let config = Config::load(&app.inputs)?;
    let Some(cassette) = running.cassette(&masking::substitutions(&app.inputs, &config)) else {
        return Ok(());
    };
    let failed = |problem: String| CliError::failed(format!("{}: {problem}", file.display()));
    let text = cassette.map_err(|error| failed(error.to_string()))?;
    std::fs::write(file, text).map_err(|error| failed(error.to_string()))
}
