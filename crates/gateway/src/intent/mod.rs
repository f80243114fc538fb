//! A wish becomes a call of the tool that the asking agent really offers, so that one script drives any agent.
//!
//! Tried in this order: a tool of a known name whose schema has a place for everything; Codex's patch tool; Codex's code mode;
//! a tool of unknown name but fitting shape; and for files, the shell.

mod code;
mod fill;
mod mcp;
mod offered;
mod patch;
mod resolve;
mod shell;
mod table;

pub(crate) use mcp::NAMESPACE;
pub(crate) use offered::offered_tools;
pub(crate) use resolve::{NoTool, OfferedTools};
