//! Interfaces for programs that use this crate as a library. Windlass itself does not call them.
//!
//! [`invoke`] runs a command of an agent once and returns its output: `CodexCliBackend`, `CursorCliBackend`.
//! [`warm`] keeps sessions and their agents between prompts: `WarmSessionManager`. Both are re-exported at the top of
//! the crate, and their names are stable.

pub mod invoke;
pub mod warm;
