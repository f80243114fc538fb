//! The history of prompts, shared by all chats of the user.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::config::private_dir::PrivateDir;

/// Maximum number of stored prompts.
const MAX_ENTRIES: usize = 500;
/// Maximum size of a stored prompt. Longer ones are not stored.
const MAX_ENTRY_BYTES: usize = 4 << 10;

/// The newest prompts, oldest first. Each is stored as a line of JSON.
#[derive(Debug)]
pub(super) struct PromptHistory {
    path: PathBuf,
    entries: VecDeque<String>,
}

impl PromptHistory {
    /// Reads the history. A file that is missing or damaged gives fewer entries.
    pub(super) fn load(path: PathBuf) -> Self {
        let entries = read(&path);
        Self { path, entries }
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &String> {
        self.entries.iter()
    }

    /// Adds a prompt, after those that other chats have added meanwhile. A history that cannot be stored is not worth
    /// failing a prompt.
    pub(super) fn add(&mut self, text: &str) {
        if text.len() > MAX_ENTRY_BYTES || self.entries.back().is_some_and(|last| last == text) {
            return;
        }
        if let Err(error) = self.store(text) {
            tracing::warn!(%error, "the history of prompts is not stored");
        }
    }

    fn store(&mut self, text: &str) -> crate::config::Result<()> {
        let (Some(dir), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Ok(());
        };
        let dir = PrivateDir::lock(dir)?;
        let mut entries = read(&self.path);
        entries.push_back(text.to_owned());
        while entries.len() > MAX_ENTRIES {
            entries.pop_front();
        }
        let lines = entries.iter().filter_map(|entry| {
            let line = serde_json::to_string(entry).ok()?;
            Some(line + "\n")
        });
        dir.replace(&name.to_string_lossy(), &lines.collect::<String>())?;
        self.entries = entries;
        Ok(())
    }
}

fn read(path: &Path) -> VecDeque<String> {
    let mut text = String::new();
    let limit = (MAX_ENTRIES * MAX_ENTRY_BYTES * 2) as u64;
    if let Ok(file) = File::open(path) {
        let _ = file.take(limit).read_to_string(&mut text);
    }
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_is_shared_and_limited() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("history");
        let mut one = PromptHistory::load(path.clone());
        let mut other = PromptHistory::load(path.clone());
        one.add("first\nline two");
        other.add("second");
        other.add("second");
        other.add(&"x".repeat(MAX_ENTRY_BYTES + 1));
        let entries: Vec<String> = PromptHistory::load(path.clone())
            .entries()
            .cloned()
            .collect();
        assert_eq!(entries, ["first\nline two", "second"]);
        let text: String = (0..MAX_ENTRIES + 9).map(|n| format!("\"{n}\"\n")).collect();
        std::fs::write(&path, text + "{damaged").unwrap();
        one.add("newest");
        let loaded = PromptHistory::load(path);
        assert_eq!(loaded.entries().count(), MAX_ENTRIES);
        assert_eq!(loaded.entries().last().unwrap(), "newest");
    }
}
