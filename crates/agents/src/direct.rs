//! `direct`: Claude Code under the name and with the keys by which it was configured first.
//!
//! `binary` is `bin`, `sdk_url` is `endpoint`; all else is [`claude`].

use serde_json::Value;
use windlass_core::{AgentHandle, Result};

use crate::{AgentContext, claude};

/// Makes Claude agents from their configuration.
pub fn factory(
    context: AgentContext,
) -> impl Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static {
    claude::factory(context)
}
