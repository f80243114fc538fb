//! Sessions that do not survive being taken up in the minute in which they began.
//!
//! Gemini names a session's file by the minute and the session, and a new process writes that file anew before it reads it.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use windlass_core::{Clock, Error, ErrorCode, Result, SessionId, SystemClock};

use super::preset::Preset;
use crate::{AgentContext, ProgramSettings};

/// How deep the files are: by project, in a folder for chats.
const MAX_DEPTH: usize = 4;
/// How many entries are looked at.
const MAX_ENTRIES: usize = 20_000;
const MINUTE: Duration = Duration::from_secs(60);

/// Refuses to take up a session that this would destroy, and says when it would not.
pub(super) fn ensure_resumable(
    preset: &Preset,
    context: &AgentContext,
    settings: &ProgramSettings,
    id: &SessionId,
) -> Result<()> {
    let Some(folder) = preset.shims.same_minute_session_dir else {
        return Ok(());
    };
    let home = match settings.endpoint {
        Some(_) => context.state_dir().join(preset.name),
        None => context.sandbox().host().home().to_owned(),
    };
    let start: String = id.as_str().chars().take(8).collect();
    let now = Duration::from_millis(SystemClock::new().now().0);
    let fresh =
        |made: Duration| made.as_secs() / MINUTE.as_secs() == now.as_secs() / MINUTE.as_secs();
    if !newest_file_time(
        &home.join(folder),
        &start,
        MAX_DEPTH,
        &mut MAX_ENTRIES.clone(),
    )
    .is_some_and(fresh)
    {
        return Ok(());
    }
    let wait = MINUTE - Duration::from_secs(now.as_secs() % MINUTE.as_secs());
    Err(Error::Agent {
        code: ErrorCode::BackendError,
        message: format!(
            "{} loses a session that is taken up in the minute in which it began: try again in {} s",
            preset.name,
            wait.as_secs()
        ),
        retry_after: Some(wait),
    })
}

/// When the youngest file that carries this name was made.
fn newest_file_time(folder: &Path, name: &str, depth: usize, left: &mut usize) -> Option<Duration> {
    let mut youngest = None;
    for entry in std::fs::read_dir(folder).ok()?.flatten() {
        *left = left.checked_sub(1)?;
        let found = match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 1 => {
                newest_file_time(&entry.path(), name, depth - 1, left)
            }
            Ok(kind) if kind.is_file() && entry.file_name().to_string_lossy().contains(name) => {
                let made = entry.metadata().and_then(|about| about.created()).ok()?;
                made.duration_since(UNIX_EPOCH).ok()
            }
            _ => None,
        };
        youngest = youngest.max(found);
    }
    youngest
}
