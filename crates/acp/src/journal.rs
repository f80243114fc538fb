//! Stored sessions: what a client needs to list them and to see their history again.
//!
//! Each session has two files: a record, which is replaced, and the updates that were sent, which are appended.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{ContentBlock, SessionUpdate};
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use windlass_core::Timestamp;
use windlass_tasks::TaskId;

use crate::content::{message, thought};
use crate::mode::Mode;

/// Maximum size of the history of a session. What follows is not stored.
const MAX_HISTORY: u64 = 16 << 20;
/// Maximum size of a record.
const MAX_RECORD: u64 = 1 << 20;
/// Maximum number of stored sessions; the oldest are removed first.
const MAX_SESSIONS: usize = 500;

/// What is stored about a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionRecord {
    /// The ID, a UUID.
    pub(crate) id: Uuid,
    pub(crate) cwd: PathBuf,
    pub(crate) mode: Mode,
    /// The name of the agent.
    pub(crate) agent: String,
    /// The first line of the first prompt.
    #[serde(default)]
    pub(crate) title: String,
    /// The number of turns.
    #[serde(default)]
    pub(crate) turns: u64,
    /// The session of the agent, with the agent's name.
    #[serde(default)]
    pub(crate) backend: Option<(String, String)>,
    /// The task that waits for an answer.
    #[serde(default)]
    pub(crate) blocked_task: Option<TaskId>,
    pub(crate) updated_at: Timestamp,
}

/// The directory of the stored sessions.
#[derive(Debug, Clone)]
pub(crate) struct JournalDir {
    path: PathBuf,
}

impl JournalDir {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    fn file(&self, id: Uuid, extension: &str) -> PathBuf {
        self.path.join(format!("{id}.{extension}"))
    }

    /// Stores a record.
    pub(crate) fn write(&self, record: &SessionRecord) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.path)?;
        let new = self.file(record.id, "new");
        let mut file = private().create(true).truncate(true).open(&new)?;
        file.write_all(serde_json::to_string(record)?.as_bytes())?;
        std::fs::rename(new, self.file(record.id, "json"))
    }

    /// Reads a record. The client's ID is a file name only if it is a UUID.
    pub(crate) fn read(&self, id: &str) -> Option<SessionRecord> {
        let id = Uuid::try_parse(id).ok()?;
        read_record(&self.file(id, "json"))
    }

    /// Returns all records, newest first.
    pub(crate) fn list(&self) -> Vec<SessionRecord> {
        let entries = std::fs::read_dir(&self.path)
            .into_iter()
            .flatten()
            .flatten();
        let paths = entries.map(|entry| entry.path());
        let paths = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
        let mut records: Vec<_> = paths.filter_map(|path| read_record(&path)).collect();
        records.sort_by_key(|record| std::cmp::Reverse((record.updated_at, record.id)));
        records
    }

    /// Removes a session. Removing an unknown session does nothing.
    pub(crate) fn delete(&self, id: &str) {
        let Ok(id) = Uuid::try_parse(id) else { return };
        for extension in ["json", "jsonl", "new"] {
            let _ = std::fs::remove_file(self.file(id, extension));
        }
    }

    /// Removes the oldest sessions if there are too many.
    pub(crate) fn prune(&self) {
        for record in self.list().iter().skip(MAX_SESSIONS) {
            self.delete(&record.id.to_string());
        }
    }

    /// Returns the updates of a session. A line that a crash truncated is skipped.
    pub(crate) fn history(&self, id: Uuid) -> Vec<SessionUpdate> {
        let Ok(file) = File::open(self.file(id, "jsonl")) else {
            return Vec::new();
        };
        let lines = BufReader::new(file.take(MAX_HISTORY)).lines();
        let lines = lines.map_while(Result::ok);
        lines
            .filter_map(|line| serde_json::from_str(&line).ok())
            .collect()
    }

    fn append(&self, id: Uuid, lines: &str) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.path)?;
        let mut file = private()
            .create(true)
            .append(true)
            .open(self.file(id, "jsonl"))?;
        if file.metadata()?.len() + lines.len() as u64 > MAX_HISTORY {
            return Ok(());
        }
        file.write_all(lines.as_bytes())
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

fn read_record(path: &Path) -> Option<SessionRecord> {
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(MAX_RECORD).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Collects the updates of a session, and appends them to its history. Chunks of one text are joined.
#[derive(Debug)]
pub(crate) struct HistoryWriter {
    dir: JournalDir,
    id: Uuid,
    text: Option<(ChunkKind, String)>,
    lines: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkKind {
    Message,
    Thought,
}

impl HistoryWriter {
    pub(crate) fn new(dir: JournalDir, id: Uuid) -> Self {
        Self {
            dir,
            id,
            text: None,
            lines: String::new(),
        }
    }

    /// Adds an update. Usage is not history.
    pub(crate) fn add(&mut self, update: &SessionUpdate) {
        const FLUSH_AT: usize = 64 << 10;
        match (text_of(update), &mut self.text) {
            (Some((kind, new)), Some((last, text))) if kind == *last => text.push_str(new),
            (Some((kind, new)), _) => {
                self.end_text();
                self.text = Some((kind, new.to_owned()));
            }
            (None, _) if matches!(update, SessionUpdate::UsageUpdate(_)) => {}
            (None, _) => {
                self.end_text();
                self.push(update);
            }
        }
        let pending = self.text.as_ref().map_or(0, |(_, text)| text.len());
        if self.lines.len() + pending > FLUSH_AT {
            self.flush();
        }
    }

    /// Writes what was collected. A history that cannot be written is not worth failing a turn.
    pub(crate) fn flush(&mut self) {
        self.end_text();
        let lines = std::mem::take(&mut self.lines);
        if let Err(error) = self.dir.append(self.id, &lines) {
            tracing::warn!(%error, "the history of a session is not stored");
        }
    }

    fn end_text(&mut self) {
        match self.text.take() {
            Some((ChunkKind::Message, text)) => self.push(&message(&text)),
            Some((ChunkKind::Thought, text)) => self.push(&thought(&text)),
            None => {}
        }
    }

    fn push(&mut self, update: &SessionUpdate) {
        if let Ok(line) = serde_json::to_string(update) {
            self.lines.push_str(&line);
            self.lines.push('\n');
        }
    }
}

fn text_of(update: &SessionUpdate) -> Option<(ChunkKind, &str)> {
    let (kind, chunk) = match update {
        SessionUpdate::AgentMessageChunk(chunk) => (ChunkKind::Message, chunk),
        SessionUpdate::AgentThoughtChunk(chunk) => (ChunkKind::Thought, chunk),
        _ => return None,
    };
    match &chunk.content {
        ContentBlock::Text(text) => Some((kind, &text.text)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::content::user_message;

    fn record(updated_at: u64) -> SessionRecord {
        SessionRecord {
            id: Uuid::new_v4(),
            cwd: "/w".into(),
            mode: Mode::Edit,
            agent: "codex".to_owned(),
            title: String::new(),
            turns: 0,
            backend: None,
            blocked_task: None,
            updated_at: Timestamp(updated_at),
        }
    }

    #[test]
    fn sessions_are_stored_listed_and_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let journal = JournalDir::new(dir.path().join("sessions"));
        assert!(journal.list().is_empty());
        let (old, new) = (record(1), record(2));
        journal.write(&old).unwrap();
        journal.write(&new).unwrap();
        assert_eq!(journal.list(), [new.clone(), old.clone()]);
        let mode = std::fs::metadata(journal.file(new.id, "json"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(journal.read(&new.id.to_string()), Some(new.clone()));
        assert_eq!(journal.read("../../etc/passwd"), None);
        journal.delete(&new.id.to_string());
        journal.delete("../escape");
        assert_eq!(journal.list(), [old]);
    }

    #[test]
    fn history_joins_chunks_and_survives_a_truncated_line() {
        let dir = tempfile::tempdir().unwrap();
        let journal = JournalDir::new(dir.path().to_owned());
        let id = Uuid::new_v4();
        let mut writer = HistoryWriter::new(journal.clone(), id);
        for update in [
            user_message("Hi"),
            message("Hel"),
            message("lo"),
            thought("Hm"),
            message("!"),
        ] {
            writer.add(&update);
        }
        writer.flush();
        journal
            .append(id, "{\"sessionUpdate\":\"agent_mess")
            .unwrap();
        let expected = [
            user_message("Hi"),
            message("Hello"),
            thought("Hm"),
            message("!"),
        ];
        assert_eq!(journal.history(id), expected);
    }
}
