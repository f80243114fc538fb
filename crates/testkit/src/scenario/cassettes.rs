//! Scenarios from recordings: made while one subject plays, played again without it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::future::BoxFuture;
use windlass_core::cassette::Cassette;
use windlass_core::{AgentHandle, Error, Result};

use super::subject::{PreparedAgent, ScenarioContext, ScenarioSubject};
use crate::{RecordingAgent, ReplayAgent, local_substitutions, read_cassette};

/// A folder of cassettes, one for each scenario, under the scenario's own path.
#[derive(Debug, Clone)]
pub struct CassetteDir {
    folder: PathBuf,
}

impl CassetteDir {
    /// The cassettes in this folder.
    pub fn in_dir(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// The same agents as this subject's, with what they do kept here.
    pub fn recording<'a>(&'a self, subject: &'a dyn ScenarioSubject) -> RecordingSubject<'a> {
        RecordingSubject {
            tapes: self,
            subject,
        }
    }

    fn cassette_path(&self, scenario: &Path) -> PathBuf {
        self.folder.join(scenario).with_extension("jsonl")
    }

    fn write(&self, scenario: &Path, cassette: &Cassette) -> Result<()> {
        let place = self.cassette_path(scenario);
        let problem =
            |problem: String| Error::InvalidInput(format!("{}: {problem}", place.display()));
        let text = cassette
            .to_jsonl()
            .map_err(|error| problem(error.to_string()))?;
        let folder = place.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&place, text))
            .map_err(|error| problem(error.to_string()))
    }
}

impl ScenarioSubject for CassetteDir {
    fn name(&self) -> String {
        "replay".to_owned()
    }

    /// A recording says what was done; it does not do it again.
    fn changes_files(&self) -> bool {
        false
    }

    fn prepare<'a>(&'a self, cast: ScenarioContext<'a>) -> BoxFuture<'a, Result<PreparedAgent>> {
        Box::pin(async move {
            let replay = ReplayAgent::new(read_cassette(&self.cassette_path(cast.file))?);
            let places = local_substitutions().workspace(cast.workspace);
            Ok(AgentHandle::wrap(replay.with_substitutions(places)).into())
        })
    }
}

/// Another subject's agents, recorded.
#[derive(Clone, Copy)]
pub struct RecordingSubject<'a> {
    tapes: &'a CassetteDir,
    subject: &'a dyn ScenarioSubject,
}

impl std::fmt::Debug for RecordingSubject<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Taping")
            .field("tapes", self.tapes)
            .finish_non_exhaustive()
    }
}

impl ScenarioSubject for RecordingSubject<'_> {
    fn name(&self) -> String {
        self.subject.name()
    }

    fn changes_files(&self) -> bool {
        self.subject.changes_files()
    }

    fn extra_time(&self) -> Duration {
        self.subject.extra_time()
    }

    fn prepare<'a>(&'a self, cast: ScenarioContext<'a>) -> BoxFuture<'a, Result<PreparedAgent>> {
        Box::pin(async move {
            let staged = self.subject.prepare(cast).await?;
            let recorder = RecordingAgent::from_handle(staged.handle.clone());
            let recording = recorder.recording();
            let (tapes, file) = (self.tapes.clone(), cast.file.to_owned());
            let places = local_substitutions().workspace(cast.workspace);
            Ok(PreparedAgent {
                handle: AgentHandle::wrap(recorder),
                end: Some(Box::new(move || {
                    let cassette = recording
                        .cassette(&places)
                        .map_err(|error| Error::InvalidInput(error.to_string()))?;
                    tapes.write(&file, &cassette)
                })),
                stage: Box::new(staged.stage),
            })
        })
    }
}
