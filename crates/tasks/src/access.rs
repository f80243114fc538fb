//! Access to a server: tokens with scopes and projects, browser sessions, and the store for both and for the audit log.
//!
//! A store has only hashes of tokens and sessions, so that a copy of it grants no access.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_core::Timestamp;

use crate::audit::{AuditEntry, AuditFilter, NewAuditEntry};
use crate::id::{ProjectId, TokenId};
use crate::store::StoreFuture;
use crate::totals::StoreTotals;

/// The maximum number of tokens that are neither revoked nor expired.
pub const MAX_TOKENS: usize = 1_000;
/// The maximum number of browser sessions. A new one replaces the oldest.
pub const MAX_SESSIONS: usize = 1_000;
/// The maximum length of a token's name, in bytes.
pub const MAX_TOKEN_NAME_BYTES: usize = 100;

/// What a token allows. A scope grants exactly what it names: `work` does not include `read`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Scope {
    /// Read tasks, events, traces and agents.
    Read,
    /// Add, retry, edit and pause tasks.
    Work,
    /// Merge changes, cancel tasks, answer questions, decide permission requests and pause workers.
    Approve,
    /// Manage tokens, and read the audit log.
    Admin,
    /// Use agents as models.
    Models,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Work,
        Self::Approve,
        Self::Admin,
        Self::Models,
    ];

    /// Returns the name, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Work => "work",
            Self::Approve => "approve",
            Self::Admin => "admin",
            Self::Models => "models",
        }
    }

    /// Returns the scope with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == name)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A token without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessToken {
    /// The id within its store.
    pub id: TokenId,
    /// The name. No other token that is not revoked has the same one.
    pub name: String,
    /// The scopes.
    pub scopes: Vec<Scope>,
    /// The projects that it can see and change; `None` means all.
    pub projects: Option<Vec<ProjectId>>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires, if it does.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
}

/// A token to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAccessToken {
    /// The name.
    pub name: String,
    /// The SHA-256 of the secret, in hexadecimal digits.
    pub hash: String,
    /// The scopes.
    pub scopes: Vec<Scope>,
    /// The projects; `None` means all.
    pub projects: Option<Vec<ProjectId>>,
    /// How long it is valid; `None` means until it is revoked.
    pub expires_in: Option<Duration>,
}

/// A session of a browser, which was opened with a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserSession {
    /// The SHA-256 of the cookie, in hexadecimal digits.
    pub hash: String,
    /// The SHA-256 of the token that opened it. The session is valid only as long as this token.
    pub token_hash: String,
    /// The host, with its port, for which it was opened. It is valid for no other.
    pub host: String,
}

/// All tokens and sessions that are valid now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The tokens, each with its hash.
    pub tokens: Vec<(String, AccessToken)>,
    /// The sessions. The token of a session may be one that is not in the store.
    pub sessions: Vec<BrowserSession>,
}

/// What a server needs besides the tasks: tokens, sessions, the audit log and numbers. Times are those of the store's own clock.
pub trait AccessStore: fmt::Debug + Send + Sync {
    /// Adds a token. The name of a token that is not revoked cannot be used again.
    fn add_token(&self, token: NewAccessToken) -> StoreFuture<'_, AccessToken>;
    /// Returns all tokens, also revoked and expired ones, oldest first.
    fn tokens(&self) -> StoreFuture<'_, Vec<AccessToken>>;
    /// Revokes a token. A revoked one stays as it is.
    fn revoke_token(&self, id: TokenId) -> StoreFuture<'_, AccessToken>;
    /// Opens a session. It ends after `expires_in`, or when it is closed.
    fn open_session(&self, session: BrowserSession, expires_in: Duration) -> StoreFuture<'_, ()>;
    /// Closes a session. One that does not exist is closed.
    fn close_session(&self, hash: String) -> StoreFuture<'_, ()>;
    /// Returns what is valid now.
    fn credentials(&self) -> StoreFuture<'_, Credentials>;
    /// Appends an entry to the audit log. Texts that are too long are cut.
    fn append_audit(&self, entry: NewAuditEntry) -> StoreFuture<'_, ()>;
    /// Returns entries of the audit log, newest first.
    fn audit(&self, filter: AuditFilter) -> StoreFuture<'_, Vec<AuditEntry>>;
    /// Returns numbers about the whole store. This reads all tasks and attempts.
    fn totals(&self) -> StoreFuture<'_, StoreTotals>;
}
