//! Recordings of tasks: one cassette for each attempt, with its turns and its model calls.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, SystemTime};

use clap::Args;
use windlass_bridge::CallRecorder;
use windlass_cassette::{Cassette, Entry, Exchange, Normalizer, Substitutions};
use windlass_core::{AgentHandle, Clock, Masker, SystemClock};
use windlass_runner::AgentResolver;
use windlass_scripted::Script;
use windlass_tasks::{AttemptRef, CallLabels, Task, WorkerKind};
use windlass_testkit::{RecordingAgent, read_cassette};

use super::app::App;
use super::exit::CliError;
use super::masking;
use super::queue::OpenQueue;
use super::task_runtime::store_dir;
use crate::agent_catalog::AgentCatalog;

/// The flag of commands that run tasks.
#[derive(Debug, Args)]
pub(super) struct RecordArgs {
    /// Record the turns and model calls of each attempt, for windlass scenario from-task
    #[arg(long)]
    record: bool,
}

impl RecordArgs {
    /// Returns the agents of tasks, recorded if the flag is set.
    pub(super) fn resolver(
        &self,
        app: &App<'_>,
        queue: &OpenQueue,
        agents: AgentCatalog,
    ) -> Result<Arc<dyn AgentResolver>, CliError> {
        if !self.record {
            return Ok(Arc::new(agents));
        }
        let dir = dir(app, queue)?;
        let keep = Duration::from_secs(u64::from(queue.config.changes.keep_days) * 24 * 60 * 60);
        let secrets = KnownSecrets {
            substitutions: masking::secret_substitutions(&app.inputs, &queue.config),
            masker: masking::masker(&app.inputs, &queue.config),
        };
        let recordings = Recordings::start(dir.clone(), secrets, keep)
            .map_err(|error| CliError::failed(format!("{}: {error}", dir.display())))?;
        if let Some(bridge) = &app.bridge {
            bridge.record_with(Arc::new(recordings.clone()));
        }
        Ok(Arc::new(RecordedAgents { agents, recordings }))
    }
}

/// Returns the directory with the recordings of a store.
fn dir(app: &App<'_>, queue: &OpenQueue) -> Result<PathBuf, CliError> {
    store_dir(app, "recordings", &queue.url)
}

/// Reads the recording of an attempt. `None` if there is none on this machine.
pub(super) fn read(
    app: &App<'_>,
    queue: &OpenQueue,
    attempt: AttemptRef,
) -> Result<Option<Cassette>, CliError> {
    let path = dir(app, queue)?.join(file_name(attempt.task.get(), attempt.number));
    if !path.exists() {
        return Ok(None);
    }
    Ok(Some(read_cassette(&path)?))
}

fn file_name(task: i64, attempt: u32) -> String {
    format!("task-{task}-attempt-{attempt}.jsonl")
}

/// What a recording must not contain.
struct KnownSecrets {
    substitutions: Substitutions,
    masker: Masker,
}

impl KnownSecrets {
    /// Replaces the secrets in an entry. Fails if a stream has one in parts.
    fn remove(&self, entry: Entry) -> io::Result<Entry> {
        let mut cassette = Cassette {
            entries: vec![entry],
        };
        Normalizer::new(&self.substitutions)
            .keeping_ids()
            .normalize_cassette(&mut cassette);
        if let Ok(script) = Script::from_exchanges(cassette.exchanges()) {
            let said = serde_json::to_string(&script).map_err(io::Error::other)?;
            if self.masker.text(&said) != said {
                return Err(io::Error::other("the model has repeated a secret in parts"));
            }
        }
        let entry = cassette.entries.pop();
        entry.ok_or_else(|| io::Error::other("the entry is lost"))
    }
}

/// Agents whose turns are recorded.
struct RecordedAgents {
    agents: AgentCatalog,
    recordings: Recordings,
}

impl RecordedAgents {
    fn recorded(&self, agent: &AgentHandle) -> AgentHandle {
        let recordings = self.recordings.clone();
        agent.wrapped_in(|backend| {
            RecordingAgent::new(backend).on_turn(move |work, turn| {
                recordings.add((work.task, work.attempt), Entry::Interaction(turn));
            })
        })
    }
}

impl AgentResolver for RecordedAgents {
    fn resolve(&self, name: Option<&str>, kind: WorkerKind) -> windlass_core::Result<AgentHandle> {
        let agent = self.agents.resolve(name, kind)?;
        Ok(self.recorded(&agent))
    }

    fn resolve_for_task(&self, task: &Task) -> windlass_core::Result<AgentHandle> {
        let agent = self.agents.resolve_for_task(task)?;
        Ok(self.recorded(&agent))
    }

    fn name_for(&self, task: &Task, agent: &AgentHandle) -> String {
        self.agents.name_for(task, agent)
    }
}

/// Writes recordings on a thread of its own, so that agents do not wait for the disk.
#[derive(Debug, Clone)]
struct Recordings {
    messages: mpsc::SyncSender<Message>,
}

enum Message {
    Entry {
        task: i64,
        attempt: u32,
        entry: Box<Entry>,
    },
    /// Answers when everything before is written.
    Flush(mpsc::SyncSender<()>),
}

impl Recordings {
    /// Starts the thread. Recordings that were last changed before `keep` are removed.
    fn start(dir: PathBuf, secrets: KnownSecrets, keep: Duration) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        prune(&dir, keep);
        let (messages, received) = mpsc::sync_channel(MAX_WAITING);
        let mut writer = RecordingWriter {
            dir,
            secrets,
            files: HashMap::new(),
        };
        let run = move || {
            for message in received {
                match message {
                    Message::Entry {
                        task,
                        attempt,
                        entry,
                    } => writer.add((task, attempt), *entry),
                    Message::Flush(done) => {
                        let _ = done.send(());
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("recordings".to_owned());
        thread.spawn(run)?;
        Ok(Self { messages })
    }

    /// Adds an entry to the recording of its attempt. Work outside of a task is not recorded.
    fn add(&self, (task, attempt): (Option<i64>, Option<u32>), entry: Entry) {
        if let (Some(task), Some(attempt)) = (task, attempt) {
            let entry = Box::new(entry);
            // The thread ends with the last sender.
            let _ = self.messages.send(Message::Entry {
                task,
                attempt,
                entry,
            });
        }
    }
}

impl CallRecorder for Recordings {
    fn record(&self, labels: &CallLabels, exchange: Exchange) {
        let task = labels.task.map(|task| task.get());
        self.add((task, labels.attempt), Entry::Exchange(exchange));
    }

    fn flush(&self) {
        let (done, is_done) = mpsc::sync_channel(1);
        if self.messages.send(Message::Flush(done)).is_ok() {
            let _ = is_done.recv_timeout(FLUSH_TIMEOUT);
        }
    }
}

/// How many entries may wait for the disk. Beyond that, agents wait too.
const MAX_WAITING: usize = 256;
/// How long the end of the program waits for the disk.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);

struct RecordingWriter {
    dir: PathBuf,
    secrets: KnownSecrets,
    /// The attempts so far, and whether their files can be written.
    files: HashMap<(i64, u32), bool>,
}

impl RecordingWriter {
    /// Adds an entry. A recording that cannot be written is removed: one with a gap would be wrong.
    fn add(&mut self, at: (i64, u32), entry: Entry) {
        let path = self.dir.join(file_name(at.0, at.1));
        let known = self.files.get(&at).copied();
        if known == Some(false) {
            return;
        }
        // Before the first entry: an older store at the same place may have had the same task.
        let entry = self.secrets.remove(entry);
        let written = entry.and_then(|entry| write(&path, &entry, known.is_none()));
        self.files.insert(at, written.is_ok());
        if let Err(error) = written {
            let _ = fs::remove_file(&path);
            tracing::warn!(%error, task = at.0, attempt = at.1, "the attempt is not recorded");
        }
    }
}

/// Appends an entry to a recording, which is created if it is new.
fn write(path: &Path, entry: &Entry, is_new: bool) -> io::Result<()> {
    let mut text = String::new();
    if is_new {
        text += &Cassette::default().to_jsonl().map_err(io::Error::other)?;
    }
    text += &entry.to_jsonl().map_err(io::Error::other)?;
    let mut options = OpenOptions::new();
    options.mode(0o600).create(true);
    if is_new {
        options.write(true).truncate(true);
    } else {
        options.append(true);
    }
    options.open(path)?.write_all(text.as_bytes())
}

/// Removes recordings that were last changed longer ago than `keep`.
fn prune(dir: &Path, keep: Duration) {
    let now = Duration::from_millis(SystemClock::new().now().0);
    let oldest = SystemTime::UNIX_EPOCH + now.saturating_sub(keep);
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    for entry in entries {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        if modified.is_ok_and(|modified| modified < oldest) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
