//! `direct`: Claude Code under its original backend name and configuration keys.
//!
//! The key `binary` means `bin` and `sdk_url` means `endpoint`; everything else is as in [`claude`].

use serde_json::Value;
use windlass_core::{AgentHandle, Result};

use crate::{AgentContext, claude};

/// The name of the backend.
pub const NAME: &str = "direct";

/// Returns a factory that creates Claude agents from their configuration.
pub fn factory(
    context: AgentContext,
) -> impl Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static {
    claude::factory(context)
}
