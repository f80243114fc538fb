//! Scenarios with recordings: recorded while one subject runs, replayed without it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::future::BoxFuture;
use windlass_cassette::Cassette;
use windlass_core::{AgentHandle, Error, Result};

use super::subject::{PreparedAgent, ScenarioContext, ScenarioSubject};
use crate::{RecordingAgent, ReplayAgent, local_substitutions, read_cassette};

/// A directory of cassettes, one for each scenario, at the scenario's own path.
#[derive(Debug, Clone)]
pub struct CassetteDir {
    dir: PathBuf,
}

impl CassetteDir {
    /// Uses the cassettes in this directory.
    pub fn in_dir(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Returns a subject with the same agents that also records them here.
    pub fn recording<'a>(&'a self, subject: &'a dyn ScenarioSubject) -> RecordingSubject<'a> {
        RecordingSubject {
            cassettes: self,
            subject,
        }
    }

    fn cassette_path(&self, scenario: &Path) -> PathBuf {
        self.dir.join(scenario).with_extension("jsonl")
    }

    fn write(&self, scenario: &Path, cassette: &Cassette) -> Result<()> {
        let path = self.cassette_path(scenario);
        let problem =
            |problem: String| Error::InvalidInput(format!("{}: {problem}", path.display()));
        let text = cassette
            .to_jsonl()
            .map_err(|error| problem(error.to_string()))?;
        let parent = path.parent().unwrap_or(&self.dir);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| problem(error.to_string()))
    }
}

impl ScenarioSubject for CassetteDir {
    fn name(&self) -> String {
        "replay".to_owned()
    }

    /// A recording reports changes but does not make them.
    fn changes_files(&self) -> bool {
        false
    }

    fn prepare<'a>(&'a self, context: ScenarioContext<'a>) -> BoxFuture<'a, Result<PreparedAgent>> {
        Box::pin(async move {
            let replay = ReplayAgent::new(read_cassette(&self.cassette_path(context.file))?);
            let substitutions = local_substitutions().workspace(context.workspace);
            Ok(AgentHandle::wrap(replay.with_substitutions(substitutions)).into())
        })
    }
}

/// The agents of another subject, recorded.
#[derive(Clone, Copy)]
pub struct RecordingSubject<'a> {
    cassettes: &'a CassetteDir,
    subject: &'a dyn ScenarioSubject,
}

impl std::fmt::Debug for RecordingSubject<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordingSubject")
            .field("cassettes", self.cassettes)
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

    fn prepare<'a>(&'a self, context: ScenarioContext<'a>) -> BoxFuture<'a, Result<PreparedAgent>> {
        Box::pin(async move {
            let prepared = self.subject.prepare(context).await?;
            let recorder = RecordingAgent::from_handle(prepared.handle.clone());
            let recording = recorder.recording();
            let (cassettes, file) = (self.cassettes.clone(), context.file.to_owned());
            let substitutions = local_substitutions().workspace(context.workspace);
            Ok(PreparedAgent {
                handle: AgentHandle::wrap(recorder),
                end: Some(Box::new(move || {
                    let cassette = recording
                        .cassette(&substitutions)
                        .map_err(|error| Error::InvalidInput(error.to_string()))?;
                    cassettes.write(&file, &cassette)
                })),
                stage: Box::new(prepared.stage),
            })
        })
    }
}
