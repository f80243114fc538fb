//! `windlass record`: records a turn as a portable cassette.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use parking_lot::Mutex;
use windlass_bridge::CallRecorder;
use windlass_cassette::{Cassette, Entry, Exchange, Normalizer, Substitutions};
use windlass_core::AgentHandle;
use windlass_tasks::CallLabels;
use windlass_testkit::RecordingAgent;

use super::app::App;
use super::ask::Ask;
use super::exit::{CliError, Exit};
use super::masking;

#[derive(Debug, Args)]
pub(super) struct Record {
    /// File to write the cassette to
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    ask: Ask,
}

/// The model calls of the turn.
#[derive(Debug, Default)]
struct RecordedCalls(Mutex<Vec<Entry>>);

impl RecordedCalls {
    /// Returns the calls without secrets. Ids stay, because a replay restores only the agent's directory.
    fn take(&self, substitutions: &Substitutions) -> Vec<Entry> {
        let entries = std::mem::take(&mut *self.0.lock());
        let mut cassette = Cassette { entries };
        Normalizer::new(substitutions)
            .keeping_ids()
            .normalize_cassette(&mut cassette);
        cassette.entries
    }
}

impl CallRecorder for RecordedCalls {
    fn record(&self, _: &CallLabels, exchange: Exchange) {
        self.0.lock().push(Entry::Exchange(exchange));
    }
}

impl Record {
    /// Records the turn, also if it fails.
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let agent = app.find_agent(self.ask.agent())?;
        let recorder = RecordingAgent::from_handle(app.open_agent(&agent)?);
        let recording = recorder.recording();
        let handle = AgentHandle::wrap(recorder);
        let cwd = self.ask.cwd()?;
        let calls = Arc::new(RecordedCalls::default());
        if let Some(bridge) = &app.bridge {
            bridge.record_with(Arc::<RecordedCalls>::clone(&calls));
        }
        // Create the file first, so that an error is reported before a long turn and not after it.
        let mut file = self.create()?;
        let exit = self.ask.run_on(app, &handle, &agent).await?;
        let config = app.config()?;
        let substitutions = masking::secret_substitutions(&app.inputs, config);
        let substitutions = substitutions.workspace(cwd);
        let cassette = recording
            .cassette(&masking::substitutions(&app.inputs, config))
            .and_then(|mut cassette| {
                cassette.entries.extend(calls.take(&substitutions));
                cassette.to_jsonl()
            })
            .map_err(|error| CliError::failed(error.to_string()))?;
        file.write_all(cassette.as_bytes())
            .map_err(|error| CliError::failed(format!("{}: {error}", self.to.display())))?;
        Ok(exit)
    }

    fn create(&self) -> Result<std::fs::File, CliError> {
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create(true)
            .truncate(true)
            .create_new(!self.force);
        options.open(&self.to).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => CliError::usage(format!(
                "{} already exists: choose another file, or pass --force to replace it",
                self.to.display()
            )),
            _ => CliError::failed(format!("{} cannot be written: {error}", self.to.display())),
        })
    }
}
