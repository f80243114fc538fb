//! The configuration of a replay.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use windlass_cassette::{Cassette, FILE_BYTES};
use windlass_core::{Error, Result};

use super::{ReplayAgent, Timing};
use crate::local_substitutions;

/// The `[agents.NAME]` table of a replay. Keys that all agents share are accepted and have no
/// effect here.
#[derive(Debug, Deserialize)]
pub struct ReplayConfig {
    /// The cassette file.
    cassette: PathBuf,
    /// When events are emitted.
    #[serde(default)]
    timing: Timing,
}

impl ReplayConfig {
    /// Creates the agent that this configuration describes. The file is read immediately.
    pub fn into_agent(self) -> Result<ReplayAgent> {
        let cassette = read_cassette(&self.cassette)?;
        let agent = ReplayAgent::new(cassette).with_timing(self.timing);
        Ok(agent.with_substitutions(local_substitutions()))
    }
}

/// Reads a cassette from a file, which must not exceed the size limit of a cassette.
pub fn read_cassette(path: &Path) -> Result<Cassette> {
    let problem =
        |problem: String| Error::config("cassette", format!("{}: {problem}", path.display()));
    let text = read(path).map_err(|error| problem(error.to_string()))?;
    Cassette::parse(&text).map_err(|error| problem(error.to_string()))
}

/// Reads at most one byte more than a cassette may have, so that the parser can report that it is
/// too long.
fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let limit = FILE_BYTES as u64 + 1;
    File::open(path)?.take(limit).read_to_string(&mut text)?;
    Ok(text)
}
