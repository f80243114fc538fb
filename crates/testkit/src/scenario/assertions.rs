//! What must be so of the files afterwards.

use std::io::Read;
use std::path::Path;

use super::workspace::ScenarioWorkspace;
use super::{FileAssertion, ScenarioAssertions};

/// The most that is read of a file.
const FILE_BYTES: u64 = 16 << 20;

/// What is not as it should be, a sentence each.
pub(super) fn check(assertions: &ScenarioAssertions, workspace: &ScenarioWorkspace) -> Vec<String> {
    let mut problems = Vec::new();
    for (path, assertion) in &assertions.files {
        let found = workspace.resolve(path).and_then(|place| read(&place));
        match found {
            Ok(text) => problems.extend(compare(path, assertion, text.as_deref())),
            Err(problem) => problems.push(format!("{path}: {problem}")),
        }
    }
    problems
}

fn compare(path: &str, assertion: &FileAssertion, text: Option<&str>) -> Vec<String> {
    let mut problems = Vec::new();
    let Some(text) = text else {
        if assertion.absent != Some(true) {
            problems.push(format!("{path} is not there"));
        }
        return problems;
    };
    if assertion.absent == Some(true) {
        problems.push(format!("{path} is there, and should not be"));
    }
    if let Some(part) = assertion
        .contains
        .as_ref()
        .filter(|part| !text.contains(*part))
    {
        problems.push(format!(
            "{path} does not contain {part:?}: it is {:?}",
            brief(text)
        ));
    }
    if let Some(whole) = assertion.equals.as_ref().filter(|whole| text != **whole) {
        problems.push(format!("{path} is {:?}, not {whole:?}", brief(text)));
    }
    problems
}

/// The text of a file, or nothing if there is none.
fn read(place: &Path) -> Result<Option<String>, String> {
    let file = match std::fs::File::open(place) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let mut bytes = Vec::new();
    file.take(FILE_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

fn brief(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
