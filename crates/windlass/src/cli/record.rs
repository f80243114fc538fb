//! `windlass record`: what an agent does, kept in a form that belongs to no machine.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use clap::Args;
use windlass_core::cassette::Places;
use windlass_core::{AgentHandle, SecretString};
use windlass_testkit::{RecordingAgent, places_here};

use super::app::App;
use super::ask::Ask;
use super::exit::{Exit, Failure};

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
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, Failure> {
        let config = app.config()?;
        let agent = app.choose(&config, self.ask.agent())?;
        let recorder = RecordingAgent::over(app.open(&config, &agent)?);
        let recording = recorder.recording();
        let handle = AgentHandle::wrap(recorder);
        // The place is taken first: nobody wants to learn after a long turn that it cannot be kept.
        let mut file = self.create()?;
        let exit = self.ask.put_to(app, &handle, &agent).await?;
        let cassette = recording
            .cassette(&places(app))
            .and_then(|cassette| cassette.to_jsonl())
            .map_err(|error| Failure::failed(error.to_string()))?;
        file.write_all(cassette.as_bytes())
            .map_err(|error| Failure::failed(format!("{}: {error}", self.to.display())))?;
        Ok(exit)
    }

    fn create(&self) -> Result<std::fs::File, Failure> {
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create(true)
            .truncate(true)
            .create_new(!self.force);
        options.open(&self.to).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Failure::usage(format!(
                "{} is there already: name another file, or pass --force to replace it",
                self.to.display()
            )),
            _ => Failure::failed(format!("{} cannot be written: {error}", self.to.display())),
        })
    }
}

/// This machine's places, and every variable that looks like a secret, so that none of them is kept.
fn places(app: &App<'_>) -> Places {
    let mut places = places_here();
    for (name, value) in &app.inputs.environment {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        if is_telling(&name) && value.len() >= 8 {
            places = places.secret(name.as_ref(), SecretString::from(value.as_ref()));
        }
    }
    places
}

fn is_telling(name: &str) -> bool {
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"]
        .iter()
        .any(|word| name.to_ascii_uppercase().contains(word))
}
