//! The temporary folder a scenario lives in.

use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

use super::Scenario;

/// A folder of the scenario's own, removed with it.
#[derive(Debug)]
pub(super) struct ScenarioWorkspace {
    folder: TempDir,
    root: PathBuf,
}

impl ScenarioWorkspace {
    /// A folder with the scenario's files in it.
    pub(super) fn new(scenario: &Scenario) -> Result<Self, String> {
        let made = tempfile::Builder::new().prefix("scenario-").tempdir();
        let folder = made.map_err(|error| format!("no folder for the scenario: {error}"))?;
        let root = folder
            .path()
            .canonicalize()
            .map_err(|error| error.to_string())?;
        let workspace = Self { folder, root };
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

    /// Where a path of the scenario is: one from the root starts at the workspace.
    pub(super) fn resolve(&self, path: &str) -> Result<PathBuf, String> {
        let below = Path::new(path.trim_start_matches('/'));
        let inside = below
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if inside && !below.as_os_str().is_empty() {
            Ok(self.root.join(below))
        } else {
            Err(format!("{path} is not a path in the workspace"))
        }
    }

    /// A path of the scenario as it is on this machine; one that leads elsewhere stays as it is.
    pub(super) fn to_local(&self, path: &str) -> String {
        match self.resolve(path) {
            Ok(place) => place.to_string_lossy().into_owned(),
            Err(_) => path.to_owned(),
        }
    }

    fn write(&self, path: &str, text: &str) -> Result<(), String> {
        let place = self.resolve(path)?;
        if let Some(folder) = place.parent() {
            std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        }
        std::fs::write(&place, text).map_err(|error| error.to_string())
    }

    /// Removes the folder, and says so if that cannot be done.
    pub(super) fn remove(self) -> Result<(), String> {
        let path = self.root.display().to_string();
        self.folder
            .close()
            .map_err(|error| format!("{path} could not be removed: {error}"))
    }
}

/// The text with the scenario's paths from the root in the place of which `place` says another.
pub(super) fn localized(scenario: &Scenario, text: &str, place: impl Fn(&str) -> String) -> String {
    let paths = absolute_paths(scenario).into_iter();
    paths.fold(text.to_owned(), |text, path| {
        replace_whole(&text, path, &place(path))
    })
}

/// The paths from the root that the scenario names, the longest first.
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

/// Replaces a path where it stands by itself, and not as the beginning or the end of a longer one.
fn replace_whole(text: &str, path: &str, place: &str) -> String {
    let continues = |c: char| c.is_alphanumeric() || matches!(c, '/' | '_' | '-' | '.');
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let (before, after) = (&rest[..at], &rest[at + path.len()..]);
        let begins = before.chars().next_back().is_none_or(|c| !continues(c));
        let sentence_end = after
            .trim_start_matches('.')
            .chars()
            .next()
            .is_none_or(char::is_whitespace);
        let ends = sentence_end || after.chars().next().is_none_or(|c| !continues(c));
        result.push_str(before);
        result.push_str(if begins && ends { place } else { path });
        rest = after;
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_replaced_where_it_stands_by_itself() {
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
