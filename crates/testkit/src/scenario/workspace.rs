//! The temporary directory of a scenario.

use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;
use windlass_cassette::Substitutions;

use super::Scenario;
use super::repository::ScenarioRepository;

/// A private directory of a scenario, removed with it.
#[derive(Debug)]
pub(super) struct ScenarioWorkspace {
    dir: TempDir,
    root: PathBuf,
    repository: Option<ScenarioRepository>,
}

impl ScenarioWorkspace {
    /// Creates a directory with the scenario's files.
    pub(super) async fn new(scenario: &Scenario) -> Result<Self, String> {
        let created = tempfile::Builder::new().prefix("scenario-").tempdir();
        let dir = created
            .map_err(|error| format!("cannot create a directory for the scenario: {error}"))?;
        let root = dir
            .path()
            .canonicalize()
            .map_err(|error| error.to_string())?;
        let setup = scenario.setup.as_ref();
        let bundle = setup.and_then(|setup| setup.repository.as_ref());
        let repository = match bundle {
            Some(bundle) => Some(ScenarioRepository::check_out(bundle, &root).await?),
            None => None,
        };
        let workspace = Self {
            dir,
            root,
            repository,
        };
        let files = scenario
            .setup
            .iter()
            .filter_map(|setup| setup.files.as_ref())
            .flatten();
        for (path, text) in files {
            workspace
                .write(path, text)
                .map_err(|error| format!("{path}: {error}"))?;
        }
        Ok(workspace)
    }

    pub(super) fn path(&self) -> &Path {
        &self.root
    }

    /// Returns the id of the tree of the files.
    pub(super) async fn tree(&self) -> Result<String, String> {
        match &self.repository {
            Some(repository) => repository.tree(&self.root).await,
            None => Err("the scenario has no setup.repository".to_owned()),
        }
    }

    /// Returns the scenario with this directory instead of the placeholder `{workspace}` in its prompts and its script.
    pub(super) fn restored(&self, scenario: &Scenario) -> Result<Scenario, String> {
        let substitutions = Substitutions::new().workspace(&self.root);
        let value = serde_json::to_value(scenario);
        let mut value = value.map_err(|error| error.to_string())?;
        for part in ["prompt", "then", "script"] {
            if let Some(value) = value.get_mut(part) {
                substitutions.restore_value(value);
            }
        }
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    /// Returns the local path of a scenario's path: an absolute path is relative to the workspace.
    pub(super) fn resolve(&self, path: &str) -> Result<PathBuf, String> {
        let relative = Path::new(path.trim_start_matches('/'));
        let is_inside = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if is_inside && !relative.as_os_str().is_empty() {
            Ok(self.root.join(relative))
        } else {
            Err(format!("{path} is not a path in the workspace"))
        }
    }

    /// Returns a scenario's path as it is on this machine; a path that leads elsewhere is
    /// unchanged.
    pub(super) fn to_local(&self, path: &str) -> String {
        match self.resolve(path) {
            Ok(path) => path.to_string_lossy().into_owned(),
            Err(_) => path.to_owned(),
        }
    }

    fn write(&self, path: &str, text: &str) -> Result<(), String> {
        let path = self.resolve(path)?;
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).map_err(|error| error.to_string())?;
        }
        std::fs::write(&path, text).map_err(|error| error.to_string())
    }

    /// Removes the directory, and returns an error if that fails.
    pub(super) fn remove(self) -> Result<(), String> {
        let path = self.root.display().to_string();
        self.dir
            .close()
            .map_err(|error| format!("{path} could not be removed: {error}"))
    }
}

/// Returns the text with the scenario's absolute paths replaced by the result of `to_local`.
pub(super) fn localized(
    scenario: &Scenario,
    text: &str,
    to_local: impl Fn(&str) -> String,
) -> String {
    let paths = absolute_paths(scenario).into_iter();
    paths.fold(text.to_owned(), |text, path| {
        replace_whole(&text, path, &to_local(path))
    })
}

/// Returns the absolute paths in the scenario, the longest first.
fn absolute_paths(scenario: &Scenario) -> Vec<&str> {
    let setup = scenario
        .setup
        .iter()
        .filter_map(|setup| setup.files.as_ref())
        .flat_map(|files| files.keys());
    let checked = scenario
        .assertions
        .iter()
        .flat_map(|assertions| assertions.files.keys());
    let mut paths: Vec<&str> = setup
        .chain(checked)
        .map(String::as_str)
        .filter(|path| path.starts_with('/'))
        .collect();
    paths.sort_by_key(|path| std::cmp::Reverse(path.len()));
    paths.dedup();
    paths
}

/// Replaces a path where it occurs alone, and not as the beginning or the end of a longer one.
fn replace_whole(text: &str, path: &str, replacement: &str) -> String {
    let continues = |c: char| c.is_alphanumeric() || matches!(c, '/' | '_' | '-' | '.');
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let (before, after) = (&rest[..at], &rest[at + path.len()..]);
        let starts = before.chars().next_back().is_none_or(|c| !continues(c));
        let sentence_end = after
            .trim_start_matches('.')
            .chars()
            .next()
            .is_none_or(char::is_whitespace);
        let ends = sentence_end || after.chars().next().is_none_or(|c| !continues(c));
        result.push_str(before);
        result.push_str(if starts && ends { replacement } else { path });
        rest = after;
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_replaced_only_as_a_whole() {
        let check = |text: &str, expected: &str| {
            assert_eq!(replace_whole(text, "/tmp/a.txt", "W"), expected)
        };
        check("Read /tmp/a.txt and stop.", "Read W and stop.");
        check("Read /tmp/a.txt.", "Read W.");
        check("{\"path\":\"/tmp/a.txt\"}", "{\"path\":\"W\"}");
        check(
            "/tmp/a.txt.bak /var/tmp/a.txt",
            "/tmp/a.txt.bak /var/tmp/a.txt",
        );
    }
}
