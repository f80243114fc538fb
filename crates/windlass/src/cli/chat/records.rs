//! Stored conversations, so that they can be listed and resumed.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_core::{Clock, SystemClock, Timestamp};

use crate::cli::exit::CliError;
use crate::config::private_dir::PrivateDir;

/// Maximum number of stored conversations; the oldest are removed first.
const MAX_CHATS: usize = 300;
/// Maximum number of stored turns of a conversation.
const MAX_TURNS: usize = 100;
/// Maximum size of a stored prompt or answer.
const MAX_TEXT_BYTES: usize = 8 << 10;
/// Maximum size of a stored conversation.
const MAX_RECORD_BYTES: u64 = 4 << 20;
/// Length of an ID.
const ID_LENGTH: usize = 12;

/// A conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChatRecord {
    pub(super) id: String,
    /// The working directory.
    pub(super) cwd: PathBuf,
    /// The name of the agent.
    pub(super) agent: String,
    #[serde(default)]
    pub(super) model: Option<String>,
    /// The first line of the first prompt.
    #[serde(default)]
    pub(super) title: String,
    /// The agent's own session, if it can be resumed.
    #[serde(default)]
    pub(super) agent_session: Option<String>,
    pub(super) updated_at: Timestamp,
    /// The files before the first turn.
    #[serde(default)]
    pub(super) start_tree: Option<String>,
    #[serde(default)]
    pub(super) turns: Vec<ChatTurn>,
}

/// A prompt and its result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChatTurn {
    pub(super) prompt: String,
    pub(super) answer: String,
    pub(super) agent: String,
    /// The files before and after the turn.
    #[serde(default)]
    pub(super) trees: Option<(String, String)>,
    /// Whether the changes of files were undone.
    #[serde(default)]
    pub(super) undone: bool,
}

impl ChatRecord {
    /// Creates the record of a new conversation.
    pub(super) fn new(cwd: PathBuf, agent: String, model: Option<String>) -> Self {
        let mut id = uuid::Uuid::new_v4().simple().to_string();
        id.truncate(ID_LENGTH);
        Self {
            id,
            cwd,
            agent,
            model,
            title: String::new(),
            agent_session: None,
            updated_at: SystemClock::new().now(),
            start_tree: None,
            turns: Vec::new(),
        }
    }

    /// Adds a turn.
    pub(super) fn add(&mut self, mut turn: ChatTurn) {
        if self.title.is_empty() {
            let line = turn.prompt.trim().lines().next().unwrap_or_default();
            self.title = line.chars().take(120).collect();
        }
        for text in [&mut turn.prompt, &mut turn.answer] {
            let end = text.floor_char_boundary(MAX_TEXT_BYTES);
            text.truncate(end);
        }
        if self.turns.len() >= MAX_TURNS {
            self.turns.remove(0);
        }
        self.turns.push(turn);
        self.updated_at = SystemClock::new().now();
    }
}

/// The directory of the stored conversations.
#[derive(Debug, Clone)]
pub(super) struct ChatStore {
    dir: PathBuf,
}

impl ChatStore {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Stores a conversation, and removes the oldest ones if there are too many.
    pub(super) fn write(&self, record: &ChatRecord) -> Result<(), CliError> {
        let text = serde_json::to_string(record).map_err(std::io::Error::from)?;
        let dir = PrivateDir::lock(&self.dir)?;
        dir.replace(&format!("{}.json", record.id), &text)?;
        for old in self.read_all().iter().skip(MAX_CHATS) {
            let _ = std::fs::remove_file(self.dir.join(format!("{}.json", old.id)));
        }
        Ok(())
    }

    /// Returns the conversations in a directory, newest first.
    pub(super) fn list(&self, cwd: &Path) -> Vec<ChatRecord> {
        let mut records = self.read_all();
        records.retain(|record| record.cwd == cwd);
        records
    }

    /// Returns the conversation with this ID, the start of an ID, or this session of an agent.
    pub(super) fn find(&self, id: &str) -> Result<Option<ChatRecord>, CliError> {
        let records = self.read_all();
        let is_exact =
            |record: &&ChatRecord| record.id == id || record.agent_session.as_deref() == Some(id);
        if let Some(record) = records.iter().find(is_exact) {
            return Ok(Some(record.clone()));
        }
        let mut similar = records.iter().filter(|record| record.id.starts_with(id));
        match (similar.next(), similar.next()) {
            (Some(_), Some(_)) => Err(CliError::usage(format!(
                "more than one conversation starts with {id}: type more of the ID (windlass chat --list)"
            ))),
            (found, _) => Ok(found.cloned()),
        }
    }

    fn read_all(&self) -> Vec<ChatRecord> {
        let entries = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let paths = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
        let mut records: Vec<ChatRecord> = paths.filter_map(|path| read(&path)).collect();
        records.sort_by_key(|record| std::cmp::Reverse((record.updated_at, record.id.clone())));
        records
    }
}

fn read(path: &Path) -> Option<ChatRecord> {
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(MAX_RECORD_BYTES).read_to_string(&mut text).ok()?;
    let record: ChatRecord = serde_json::from_str(&text).ok()?;
    // The ID is a file name.
    let is_own = path
        .file_stem()
        .is_some_and(|stem| stem == record.id.as_str());
    is_own.then_some(record)
}

/// Formats how long ago a time was.
pub(super) fn age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.0.saturating_sub(then.0) / 1000;
    match seconds {
        0..60 => "now".to_owned(),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86_400 => format!("{} h ago", seconds / 3600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn conversations_are_stored_found_and_limited() {
        let dir = tempfile::tempdir().unwrap();
        let store = ChatStore::new(dir.path().join("chats"));
        assert!(store.list(Path::new("/w")).is_empty());
        let mut record = ChatRecord::new("/w".into(), "codex".to_owned(), None);
        record.agent_session = Some("thread-1".to_owned());
        record.add(ChatTurn {
            prompt: "First\nsecond line".to_owned(),
            answer: "é".repeat(MAX_TEXT_BYTES),
            ..ChatTurn::default()
        });
        store.write(&record).unwrap();
        assert_eq!(record.title, "First");
        assert!(record.turns[0].answer.len() <= MAX_TEXT_BYTES);
        let path = dir.path().join(format!("chats/{}.json", record.id));
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(store.list(Path::new("/w")), std::slice::from_ref(&record));
        assert!(store.list(Path::new("/other")).is_empty());
        for id in [&record.id, &record.id[..4], "thread-1"] {
            assert_eq!(store.find(id).unwrap().as_ref(), Some(&record), "{id}");
        }
        assert_eq!(store.find("zzz").unwrap(), None);
        // A record with the ID of another file is not used.
        std::fs::copy(&path, dir.path().join("chats/copy.json")).unwrap();
        std::fs::write(dir.path().join("chats/cut.json"), "{\"id\":").unwrap();
        assert_eq!(store.list(Path::new("/w")).len(), 1);
        for number in 0..=MAX_TURNS {
            record.add(ChatTurn {
                prompt: number.to_string(),
                ..ChatTurn::default()
            });
        }
        assert_eq!(record.turns.len(), MAX_TURNS);
        assert_eq!(record.turns[0].prompt, "1");
    }

    #[test]
    fn ambiguous_ids_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let store = ChatStore::new(dir.path().to_owned());
        for id in ["aa1", "aa2"] {
            let mut record = ChatRecord::new("/w".into(), "codex".to_owned(), None);
            record.id = id.to_owned();
            store.write(&record).unwrap();
        }
        assert!(store.find("aa").is_err());
        assert!(store.find("aa1").unwrap().is_some());
    }

    #[test]
    fn ages_are_in_words() {
        let at = |seconds: u64| age(Timestamp(0), Timestamp(seconds * 1000));
        assert_eq!(
            [at(5), at(120), at(7200), at(200_000)],
            ["now", "2 min ago", "2 h ago", "2 d ago"]
        );
        assert_eq!(age(Timestamp(9), Timestamp(0)), "now");
    }
}
