//! Resolves an intent to a call of the tool that the agent offers, so that one script drives any agent.
//!
//! Tried in this order: a tool with a known name and a parameter for every value; Codex's patch
//! tool; Codex's code mode; a tool with an unknown name and a matching schema; and for files, the shell.

mod code;
mod fill;
mod mcp;
mod offered;
mod patch;
mod resolve;
mod shell;
mod table;
mod tools;

pub(crate) use mcp::NAMESPACE;
pub(crate) use offered::offered_tools;
pub(crate) use resolve::NoTool;
pub(crate) use tools::OfferedTools;
