//! `windlass record`: records a turn as a portable cassette.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use clap::Args;
use windlass_cassette::Substitutions;
use windlass_core::{AgentHandle, SecretString};
use windlass_testkit::{RecordingAgent, local_substitutions};

use super::app::App;
use super::ask::Ask;
use super::exit::{CliError, Exit};

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
            .cassette(&substitutions_with_secrets(app))
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

/// Returns the substitutions for this machine's paths and for every variable whose name looks like a secret, so that
/// none of them is recorded.
fn substitutions_with_secrets(app: &App<'_>) -> Substitutions {
    let mut substitutions = local_substitutions();
    for (name, value) in &app.inputs.environment {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        if is_secret_name(&name) && value.len() >= 8 {
            substitutions = substitutions.secret(name.as_ref(), SecretString::from(value.as_ref()));
        }
    }
    substitutions
}

fn is_secret_name(name: &str) -> bool {
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"]
        .iter()
        .any(|word| name.to_ascii_uppercase().contains(word))
}
