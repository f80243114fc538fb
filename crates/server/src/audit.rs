//! The audit log: one entry for each request that may change something, and for each refused one.
//!
//! An entry is stored before the response is sent. A client that disconnects does not avoid it.

use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use windlass_tasks::{AccessStore, NewAuditEntry};

use crate::error::is_below;
use crate::git::is_push;

/// The maximum number of entries that are being stored.
const MAX_PENDING: usize = 256;
/// The maximum number of entries of unknown callers per interval. The rest is only in the server's log.
const MAX_UNKNOWN: u32 = 60;
const UNKNOWN_INTERVAL: Duration = Duration::from_secs(60);

/// Writes the audit log.
#[derive(Debug, Clone)]
pub(crate) struct Auditor(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Arc<dyn AccessStore>,
    pending: Arc<Semaphore>,
    unknown: Mutex<UnknownCallers>,
}

/// How many entries of unknown callers there were since a time.
#[derive(Debug)]
struct UnknownCallers {
    since: Instant,
    count: u32,
}

impl UnknownCallers {
    fn admit(&mut self) -> bool {
        if self.since.elapsed() >= UNKNOWN_INTERVAL {
            *self = Self {
                since: Instant::now(),
                count: 0,
            };
        }
        self.count = self.count.saturating_add(1);
        self.count <= MAX_UNKNOWN
    }
}

impl Auditor {
    pub(crate) fn new(store: Arc<dyn AccessStore>) -> Self {
        Self(Arc::new(Inner {
            store,
            pending: Arc::new(Semaphore::new(MAX_PENDING)),
            unknown: Mutex::new(UnknownCallers {
                since: Instant::now(),
                count: 0,
            }),
        }))
    }

    /// Starts an entry. If the action may change something, the entry is stored even if the action is cancelled.
    pub(crate) fn start(
        &self,
        entry: NewAuditEntry,
        note: AuditNote,
        may_change: bool,
    ) -> PendingEntry {
        PendingEntry {
            auditor: self.clone(),
            entry: Some(entry),
            note,
            may_change,
        }
    }

    /// Stores an entry in the background, and returns when it is stored.
    fn store(&self, entry: NewAuditEntry) -> impl Future<Output = ()> + use<> {
        let is_admitted = !entry.actor.is_empty() || self.0.unknown.lock().admit();
        let permit = Arc::clone(&self.0.pending).try_acquire_owned();
        let task = match permit {
            Ok(permit) if is_admitted => {
                let inner = Arc::clone(&self.0);
                Some(tokio::spawn(async move {
                    if let Err(error) = inner.store.append_audit(entry.clone()).await {
                        tracing::warn!(%error, ?entry, "cannot write the audit log");
                    }
                    drop(permit);
                }))
            }
            _ => {
                tracing::warn!(?entry, "not in the audit log: there are too many entries");
                None
            }
        };
        async move {
            if let Some(task) = task {
                let _ = task.await;
            }
        }
    }
}

/// What the handler of a request adds to its entry.
#[derive(Debug, Clone, Default)]
pub(crate) struct AuditNote(Arc<NoteInner>);

#[derive(Debug, Default)]
struct NoteInner {
    actor: OnceLock<String>,
    subject: OnceLock<String>,
    result: OnceLock<&'static str>,
}

impl AuditNote {
    /// Sets who the caller is.
    pub(crate) fn set_actor(&self, actor: &str) {
        self.0.actor.get_or_init(|| actor.to_owned());
    }

    /// Sets a result that the status of the response does not show.
    pub(crate) fn set_result(&self, result: &'static str) {
        self.0.result.get_or_init(|| result);
    }

    /// Sets what was changed, if the path does not name it.
    pub(crate) fn set_subject(&self, subject: impl std::fmt::Display) {
        self.0.subject.get_or_init(|| subject.to_string());
    }
}

impl<S: Send + Sync> FromRequestParts<S> for AuditNote {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}

/// An entry that is not stored yet.
#[derive(Debug)]
pub(crate) struct PendingEntry {
    auditor: Auditor,
    entry: Option<NewAuditEntry>,
    note: AuditNote,
    may_change: bool,
}

impl PendingEntry {
    /// Stores the entry with this result.
    pub(crate) async fn finish(mut self, result: &str) {
        if let Some(stored) = self.store(result) {
            stored.await;
        }
    }

    /// Drops the entry of a request that changes nothing.
    pub(crate) fn discard(mut self) {
        self.entry = None;
    }

    fn store(&mut self, result: &str) -> Option<impl Future<Output = ()> + use<>> {
        let mut entry = self.entry.take()?;
        // An error of the server itself says more.
        let noted = self.note.0.result.get().filter(|_| result == "ok");
        entry.result = noted.copied().unwrap_or(result).to_owned();
        if let Some(actor) = self.note.0.actor.get() {
            entry.actor.clone_from(actor);
        }
        if let Some(subject) = self.note.0.subject.get() {
            entry.subject.clone_from(subject);
        }
        Some(self.auditor.store(entry))
    }
}

impl Drop for PendingEntry {
    fn drop(&mut self) {
        // The client is gone, but what it asked for may have happened. The entry is stored in the background.
        if self.may_change {
            drop(self.store("disconnected"));
        }
    }
}

/// Returns `true` if the response to a request belongs into the log.
pub(crate) fn is_recorded(method: &Method, path: &str, status: StatusCode) -> bool {
    let is_refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    is_refused || may_change(method, path)
}

/// Returns `true` if a request may change something. Each MCP tool has its own entry, and each model request a trace.
pub(crate) fn may_change(method: &Method, path: &str) -> bool {
    let reads = method == Method::GET || method == Method::HEAD;
    !reads && (is_below(path, "/api/v1") || is_push(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_and_refusals_are_recorded() {
        let ok = StatusCode::OK;
        for (method, path, status, expected) in [
            (Method::POST, "/api/v1/tasks", ok, true),
            (
                Method::DELETE,
                "/api/v1/tokens/1",
                StatusCode::NOT_FOUND,
                true,
            ),
            (Method::GET, "/api/v1/tasks", ok, false),
            (Method::GET, "/api/v1/tokens", StatusCode::FORBIDDEN, true),
            (Method::POST, "/mcp", ok, false),
            (Method::POST, "/mcp", StatusCode::UNAUTHORIZED, true),
            (Method::POST, "/v1/chat/completions", ok, false),
            (Method::POST, "/api/chat", ok, false),
            (Method::POST, "/api/chat", StatusCode::FORBIDDEN, true),
            (Method::POST, "/git/shop.git/git-receive-pack", ok, true),
            (Method::POST, "/git/shop.git/git-upload-pack", ok, false),
            (
                Method::GET,
                "/git/shop.git/info/refs",
                StatusCode::NOT_FOUND,
                false,
            ),
        ] {
            assert_eq!(
                is_recorded(&method, path, status),
                expected,
                "{method} {path} {status}"
            );
        }
    }

    #[test]
    fn p12_unknown_callers_cannot_fill_the_log() {
        let mut unknown = UnknownCallers {
            since: Instant::now(),
            count: 0,
        };
        let admitted = (0..10_000).filter(|_| unknown.admit()).count();
        assert_eq!(admitted, 60);
    }
}
