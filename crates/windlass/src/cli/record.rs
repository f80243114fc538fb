//! `windlass record`: records a turn as a portable cassette.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use clap::Args;
use windlass_core::AgentHandle;
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

impl Record {
    /// Records the turn, also if it fails.
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let agent = app.find_agent(self.ask.agent())?;
        let recorder = RecordingAgent::from_handle(app.open_agent(&agent)?);
        let recording = recorder.recording();
        let handle = AgentHandle::wrap(recorder);
        // Create the file first, so that an error is reported before a long turn and not after it.
        let mut file = self.create()?;
        let exit = self.ask.run_on(app, &handle, &agent).await?;
        let cassette = recording
            .cassette(&masking::substitutions(&app.inputs, app.config()?))
            .and_then(|cassette| cassette.to_jsonl())
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
