//! The audit log of servers: who did what, when, from where, and with which result.

use serde::{Deserialize, Serialize};
use windlass_core::Timestamp;

use crate::id::AuditId;

/// The maximum number of entries that a store has. A new one replaces the oldest.
pub const MAX_AUDIT_ENTRIES: u64 = 1_000_000;
/// The maximum number of entries of one list.
pub const MAX_AUDIT_PAGE: u32 = 1_000;
/// The maximum length of each text of an entry, in bytes. Longer ones are cut.
pub const MAX_AUDIT_TEXT_BYTES: usize = 500;

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The id within its store. A later entry has a larger one.
    pub id: AuditId,
    /// When it was stored, by the clock of the store.
    pub at: Timestamp,
    /// Who: the name of the token; `owner` for the server's own token; empty if the caller is unknown.
    pub actor: String,
    /// From where: the address of the client, or `cli` or `stdio` for a program on this machine.
    pub source: String,
    /// What: the method and path of a request, the name of an MCP tool, or a command.
    pub action: String,
    /// What it was done to, if the action does not name it, such as the id of an added task.
    pub subject: String,
    /// `ok`, or the code of the error.
    pub result: String,
    /// The id of the request in the log of the server; empty if there is none.
    pub request: String,
}

/// An entry to be stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewAuditEntry {
    /// Who.
    pub actor: String,
    /// From where.
    pub source: String,
    /// What.
    pub action: String,
    /// What it was done to.
    pub subject: String,
    /// The result.
    pub result: String,
    /// The id of the request.
    pub request: String,
}

/// Which entries to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only entries before this one.
    pub before: Option<AuditId>,
    /// Only entries of this actor.
    pub actor: Option<String>,
    /// How many, at most [`MAX_AUDIT_PAGE`].
    pub limit: u32,
}
