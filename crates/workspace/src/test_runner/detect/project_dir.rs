//! The files of a project, as detection reads them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::git::small_file;

/// Maximum number of entries of a directory that are examined.
const MAX_ENTRIES: usize = 10_000;

/// A directory of a repository that may contain a project.
#[derive(Debug, Clone)]
pub(super) struct ProjectDir {
    path: PathBuf,
    /// The path from the root of the repository; empty for the root itself.
    pub(super) name: String,
}

impl ProjectDir {
    pub(super) fn new(root: &Path, name: &str) -> Self {
        Self {
            path: root.join(name),
            name: name.to_owned(),
        }
    }

    /// Returns `true` if there is a regular file with this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.path.join(name).is_file()
    }

    /// Returns the first of these files that exists.
    pub(super) fn first<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| self.has(name))
    }

    /// Returns the text of a small file; empty if it is missing.
    pub(super) fn text(&self, name: &str) -> String {
        small_file(&self.path.join(name)).unwrap_or_default()
    }

    /// Returns the content of a JSON file; null if it is missing or no JSON.
    pub(super) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).unwrap_or_default()
    }

    /// Returns the content of a TOML file; empty if it is missing or no TOML.
    pub(super) fn toml(&self, name: &str) -> toml::Table {
        self.text(name).parse().unwrap_or_default()
    }

    /// Returns `true` if a file in this subdirectory has a name that `matches`.
    pub(super) fn any_file(&self, dir: &str, matches: impl Fn(&str) -> bool) -> bool {
        self.entries(dir)
            .iter()
            .any(|(name, is_dir)| !is_dir && matches(name))
    }

    /// Returns the names of the subdirectories, sorted.
    pub(super) fn dirs(&self, dir: &str) -> Vec<String> {
        let dirs = self.entries(dir).into_iter().filter(|(_, is_dir)| *is_dir);
        let mut names: Vec<String> = dirs.map(|(name, _)| name).collect();
        names.sort();
        names
    }

    /// Returns the names in a directory, and which of them are directories. Links are neither.
    fn entries(&self, dir: &str) -> Vec<(String, bool)> {
        let entries = std::fs::read_dir(self.path.join(dir));
        let entries = entries.into_iter().flatten().flatten().take(MAX_ENTRIES);
        let named = entries.filter_map(|entry| {
            let kind = entry.file_type().ok()?;
            let name = entry.file_name().into_string().ok()?;
            (kind.is_dir() || kind.is_file()).then_some((name, kind.is_dir()))
        });
        named.collect()
    }
}
