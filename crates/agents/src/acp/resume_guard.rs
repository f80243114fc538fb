//! Protects sessions that are destroyed when they are resumed within the minute of their creation.
//!
//! Gemini names a session's file by the minute and the session, and a new process overwrites that file before
//! it reads it.

use std::fs::DirEntry;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use windlass_core::{Clock, Error, ErrorCode, Result, SystemClock};

use super::preset::Preset;
use crate::program::state_dirs::managed_home;
use crate::{AgentContext, ProgramSettings};

/// How deep the files are: by project, in a directory for chats.
const MAX_DEPTH: usize = 4;
/// Maximum number of entries to check.
const MAX_ENTRIES: usize = 20_000;
const MINUTE: Duration = Duration::from_secs(60);

/// Returns an error with a retry time if resuming the session now would destroy it.
pub(super) async fn ensure_resumable(
    preset: &Preset,
    context: &AgentContext,
    settings: &ProgramSettings,
    name: &str,
) -> Result<()> {
    let Some(dir) = preset.quirks.same_minute_session_dir else {
        return Ok(());
    };
    let managed = managed_home(preset.program, settings, context);
    let home = managed.unwrap_or_else(|| context.sandbox().host().home().to_owned());
    let id_prefix: String = name.chars().take(8).collect();
    let now = Duration::from_millis(SystemClock::new().now().0);
    let is_same_minute = |created: Duration| {
        created.as_secs() / MINUTE.as_secs() == now.as_secs() / MINUTE.as_secs()
    };
    let dir = home.join(dir);
    let search = move || newest_file_time(&dir, &id_prefix, MAX_DEPTH, &mut MAX_ENTRIES.clone());
    let newest = tokio::task::spawn_blocking(search).await.ok().flatten();
    if !newest.is_some_and(is_same_minute) {
        return Ok(());
    }
    let wait = MINUTE - Duration::from_secs(now.as_secs() % MINUTE.as_secs());
    Err(Error::Agent {
        code: ErrorCode::BackendError,
        message: format!(
            "{} cannot resume a session within the minute it was created: try again in {} s",
            preset.name(),
            wait.as_secs()
        ),
        retry_after: Some(wait),
    })
}

/// Returns the creation time of the newest file that has this text in its name, among the first entries.
fn newest_file_time(dir: &Path, name: &str, depth: usize, left: &mut usize) -> Option<Duration> {
    let mut newest = None;
    for entry in std::fs::read_dir(dir).ok()?.flatten() {
        if *left == 0 {
            break;
        }
        *left -= 1;
        let found = match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 1 => {
                newest_file_time(&entry.path(), name, depth - 1, left)
            }
            Ok(kind) if kind.is_file() && entry.file_name().to_string_lossy().contains(name) => {
                file_time(&entry)
            }
            _ => None,
        };
        newest = newest.max(found);
    }
    newest
}

/// Returns the creation time of a file, or the time of its last change where the file system has none.
fn file_time(entry: &DirEntry) -> Option<Duration> {
    let metadata = entry.metadata().ok()?;
    let created = metadata.created().or_else(|_| metadata.modified()).ok()?;
    created.duration_since(UNIX_EPOCH).ok()
}
