//! `windlass record`: what an agent does, kept in a form that belongs to no machine.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use clap::Args;
use windlass_core::cassette::Substitutions;
use windlass_core::{AgentHandle, SecretString};
use windlass_testkit::{RecordingAgent, local_substitutions};

use super::app::App;
use super::ask::Ask;
use super::exit::{CliError, Exit};

#[derive(Debug, Args)]
pub(super) struct Record {
    /// Where to keep it
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    ask: Ask,
}

impl Record {
    /// The turn is kept however it ended: a failure is worth keeping too.
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let config = app.config()?;
        let agent = app.find_agent(&config, self.ask.agent())?;
        let recorder = RecordingAgent::from_handle(app.open_agent(&config, &agent)?);
        let recording = recorder.recording();
        let handle = AgentHandle::wrap(recorder);
        // The place is taken first: nobody wants to learn after a long turn that it cannot be kept.
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
                "{} is there already: name another file, or pass --force to replace it",
                self.to.display()
            )),
            _ => CliError::failed(format!("{} cannot be written: {error}", self.to.display())),
        })
    }
}

/// This machine's places, and every variable that looks like a secret, so that none of them is kept.
fn substitutions_with_secrets(app: &App<'_>) -> Substitutions {
    let mut places = local_substitutions();
    for (name, value) in &app.inputs.environment {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        if is_secret_name(&name) && value.len() >= 8 {
            places = places.secret(name.as_ref(), SecretString::from(value.as_ref()));
        }
    }
    places
}

fn is_secret_name(name: &str) -> bool {
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"]
        .iter()
        .any(|word| name.to_ascii_uppercase().contains(word))
}
