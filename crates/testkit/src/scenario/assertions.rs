//! Checks of the files after a scenario.

use std::io::Read;
use std::path::Path;

use super::workspace::ScenarioWorkspace;
use super::{FileAssertion, ScenarioAssertions};

/// Maximum size that is read of a file.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Returns the violated assertions, one sentence each.
pub(super) async fn check(
    assertions: &ScenarioAssertions,
    workspace: &ScenarioWorkspace,
) -> Vec<String> {
    let mut problems = Vec::new();
    for (path, assertion) in &assertions.files {
        let found = workspace.resolve(path).and_then(|path| read(&path));
        match found {
            Ok(text) => problems.extend(compare(path, assertion, text.as_deref())),
            Err(problem) => problems.push(format!("{path}: {problem}")),
        }
    }
    if let Some(expected) = &assertions.tree {
        match workspace.tree().await {
            Ok(tree) if tree == *expected => {}
            Ok(tree) => problems.push(format!("the tree is {tree}, not {expected}")),
            Err(problem) => problems.push(problem),
        }
    }
    problems
}

fn compare(path: &str, assertion: &FileAssertion, text: Option<&str>) -> Vec<String> {
    let mut problems = Vec::new();
    let Some(text) = text else {
        if assertion.absent != Some(true) {
            problems.push(format!("{path} does not exist"));
        }
        return problems;
    };
    if assertion.absent == Some(true) {
        problems.push(format!("{path} exists but should not"));
    }
    if let Some(part) = assertion
        .contains
        .as_ref()
        .filter(|part| !text.contains(*part))
    {
        problems.push(format!(
            "{path} does not contain {part:?}: it is {:?}",
            truncate(text)
        ));
    }
    if let Some(whole) = assertion.equals.as_ref().filter(|whole| text != **whole) {
        problems.push(format!("{path} is {:?}, not {whole:?}", truncate(text)));
    }
    problems
}

/// Returns the text of a file, or `None` if it does not exist.
fn read(path: &Path) -> Result<Option<String>, String> {
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

fn truncate(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
