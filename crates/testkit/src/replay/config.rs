//! A replay as configuration.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use windlass_core::cassette::{Cassette, FILE_BYTES};
use windlass_core::{Error, Result};

use super::{ReplayAgent, Timing};
use crate::local_substitutions;

/// What `[agents.NAME]` may say about a replay. Keys that all agents share are accepted and mean nothing here.
#[derive(Debug, Deserialize)]
pub struct ReplayConfig {
    /// The file to play.
    cassette: PathBuf,
    /// When events come.
    #[serde(default)]
    timing: Timing,
}

impl ReplayConfig {
    /// The agent that this configuration describes. The file is read here and now.
    pub fn into_agent(self) -> Result<ReplayAgent> {
        let cassette = read_cassette(&self.cassette)?;
        let agent = ReplayAgent::new(cassette).with_timing(self.timing);
        Ok(agent.with_substitutions(local_substitutions()))
    }
}

/// A cassette from a file, which may not be longer than a cassette can be.
pub fn read_cassette(path: &Path) -> Result<Cassette> {
    let problem =
        |problem: String| Error::config("cassette", format!("{}: {problem}", path.display()));
    let text = read(path).map_err(|error| problem(error.to_string()))?;
    Cassette::parse(&text).map_err(|error| problem(error.to_string()))
}

/// Reads at most one byte more than a cassette may have, so that the reader can say that it is too long.
fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let limit = FILE_BYTES as u64 + 1;
    File::open(path)?.take(limit).read_to_string(&mut text)?;
    Ok(text)
}
