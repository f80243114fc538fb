//! `windlass model`: a model that says what a script says, or what a recording says.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use windlass_gateway::{RunningModel, Script, ScriptedModel};
use windlass_testkit::{local_substitutions, read_cassette};

use super::app::App;
use super::console::{BAD, QUIET};
use super::exit::{CliError, Exit};
use super::interrupt::Interrupts;

#[derive(Debug, Args)]
pub(super) struct Model {
    /// The script; docs/testing-with-scripts.md shows the format
    #[arg(long, value_name = "FILE", required_unless_present = "cassette")]
    script: Option<PathBuf>,
    /// A cassette to answer from instead
    #[arg(long, value_name = "FILE", conflicts_with = "script")]
    cassette: Option<PathBuf>,
    /// Keep every request and answer as a cassette
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Where to listen, on loopback; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Print what came as JSON at the end
    #[arg(long)]
    json: bool,
}

impl Model {
    /// Serves until it is interrupted; a request that was not expected makes it fail.
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
            &format!("listening on {}; interrupt to end", running.url()),
        );
        interrupts.next().await;
        if let Some(file) = &self.record {
            write_cassette(&running, file)?;
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

/// Writes down what passed.
fn write_cassette(running: &RunningModel, file: &Path) -> Result<(), CliError> {
    let Some(cassette) = running.cassette(&local_substitutions()) else {
        return Ok(());
    };
    let failed = |problem: String| CliError::failed(format!("{}: {problem}", file.display()));
    let text = cassette.map_err(|error| failed(error.to_string()))?;
    std::fs::write(file, text).map_err(|error| failed(error.to_string()))
}
