//! Interfaces for programs that use this crate as a library. Windlass itself does not call them.
//!
//! [`invoke`] runs a command of an agent once and returns its output: `CodexCliBackend`, `CursorCliBackend`. It is
//! re-exported at the top of the crate, and its names are stable.

pub mod invoke;
