//! Loads scenarios from a directory.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::Scenario;

/// Maximum size of a scenario file, which contains a script.
const MAX_FILE_BYTES: u64 = windlass_scripted::script::SCRIPT_BYTES;
/// Maximum number of scenarios in a directory.
const MAX_FILES: usize = 10_000;
/// Maximum depth of subdirectories.
const MAX_DEPTH: usize = 8;

/// A scenario that cannot be loaded.
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

/// Loads every `.json` file in the directory and below, in the order of their paths, with those
/// paths.
///
/// If `dir` is a file, loads that one scenario.
pub fn load_scenarios(dir: &Path) -> Result<Vec<(PathBuf, Scenario)>, LoadError> {
    let mut files = Vec::new();
    if dir.is_file() {
        files.push(dir.to_owned());
    } else {
        collect(dir, MAX_DEPTH, &mut files)?;
    }
    if files.is_empty() {
        return Err(LoadError::new(
            dir,
            "no scenarios found: a scenario is a .json file",
        ));
    }
    files.sort();
    let read = |path: PathBuf| {
        let scenario = read(&path)?;
        let relative = path.strip_prefix(dir).unwrap_or(&path).to_owned();
        Ok((
            if relative.as_os_str().is_empty() {
                path
            } else {
                relative
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
        // Links are skipped: their target may be anywhere, including this directory.
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() && depth > 0 {
            collect(&path, depth - 1, files)?;
        } else if kind.is_file() && path.extension().is_some_and(|end| end == "json") {
            files.push(path);
        }
        if files.len() > MAX_FILES {
            return Err(LoadError::new(
                dir,
                format!("more than {MAX_FILES} scenarios"),
            ));
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Scenario, LoadError> {
    let problem = |problem: String| LoadError::new(path, problem);
    let file = std::fs::File::open(path).map_err(|error| problem(error.to_string()))?;
    let mut text = String::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| problem(error.to_string()))?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(problem(format!("larger than {MAX_FILE_BYTES} bytes")));
    }
    let mut json = serde_json::Deserializer::from_str(&text);
    let mut scenario: Scenario = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let at = error.path().to_string();
        problem(format!("{at}: {}", error.into_inner()))
    })?;
    if let Some(setup) = &mut scenario.setup
        && let Some(bundle) = &mut setup.repository
    {
        *bundle = beside(path, bundle).map_err(problem)?;
    }
    Ok(scenario)
}

/// Returns the path of a file beside the scenario.
fn beside(scenario: &Path, name: &str) -> Result<String, String> {
    let is_name = Path::new(name).file_name() == Some(OsStr::new(name));
    if !is_name {
        return Err(format!(
            "setup.repository: {name:?} is not the name of a file beside the scenario"
        ));
    }
    let dir = std::path::absolute(scenario);
    let dir = dir.and_then(|file| file.parent().unwrap_or(&file).canonicalize());
    let file = dir.map_err(|error| error.to_string())?.join(name);
    match file.into_os_string().into_string() {
        Ok(file) => Ok(file),
        Err(file) => Err(format!("{} is not UTF-8", file.display())),
    }
}
