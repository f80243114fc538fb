//! Scenarios from a folder.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::Scenario;

/// The largest scenario that is read.
const FILE_BYTES: u64 = 1 << 20;
/// How many scenarios one folder may hold.
const FILES: usize = 10_000;
/// How deep folders are looked into.
const DEPTH: usize = 8;

/// A scenario that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct LoadError {
    path: PathBuf,
    problem: String,
}

impl LoadError {
    fn new(path: &Path, problem: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }
}

/// Every `.json` file in the folder and below, in the order of their paths, with that path.
///
/// A file in place of the folder is that one scenario.
pub fn load_scenarios(dir: &Path) -> Result<Vec<(PathBuf, Scenario)>, LoadError> {
    let mut files = Vec::new();
    if dir.is_file() {
        files.push(dir.to_owned());
    } else {
        collect(dir, DEPTH, &mut files)?;
    }
    if files.is_empty() {
        return Err(LoadError::new(
            dir,
            "there is no scenario here: a scenario is a .json file",
        ));
    }
    files.sort();
    let read = |path: PathBuf| {
        let scenario = read(&path)?;
        let shown = path.strip_prefix(dir).unwrap_or(&path).to_owned();
        Ok((
            if shown.as_os_str().is_empty() {
                path
            } else {
                shown
            },
            scenario,
        ))
    };
    files.into_iter().map(read).collect()
}

fn collect(dir: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), LoadError> {
    let entries = dir
        .read_dir()
        .map_err(|error| LoadError::new(dir, error.to_string()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        // What a link leads to may be anywhere, this folder included.
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() && depth > 0 {
            collect(&path, depth - 1, files)?;
        } else if kind.is_file() && path.extension().is_some_and(|end| end == "json") {
            files.push(path);
        }
        if files.len() > FILES {
            return Err(LoadError::new(dir, format!("more than {FILES} scenarios")));
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Scenario, LoadError> {
    let problem = |problem: String| LoadError::new(path, problem);
    let file = std::fs::File::open(path).map_err(|error| problem(error.to_string()))?;
    let mut text = String::new();
    file.take(FILE_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| problem(error.to_string()))?;
    if text.len() as u64 > FILE_BYTES {
        return Err(problem(format!("larger than {FILE_BYTES} bytes")));
    }
    let mut json = serde_json::Deserializer::from_str(&text);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let at = error.path().to_string();
        problem(format!("{at}: {}", error.into_inner()))
    })
}
