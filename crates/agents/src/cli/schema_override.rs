//! `schema_override`: the schema in a file of the user, instead of that of a structured call.

use std::fs::File;
use std::io::Read;

use serde_json::Value;
use windlass_core::structured::SCHEMA_BYTES;
use windlass_core::{Error, Result};

use crate::{AgentContext, ProgramSettings};

/// Returns the schema that the agent enforces: that of the configured file if it exists, otherwise the one of the call.
pub(super) fn schema_for_agent(
    requested: Option<Value>,
    settings: &ProgramSettings,
    context: &AgentContext,
) -> Result<Option<Value>> {
    let (Some(_), Some(configured)) = (&requested, &settings.schema_override) else {
        return Ok(requested);
    };
    let path = context.sandbox().host().expand(configured);
    if !path.is_file() {
        tracing::warn!(
            file = configured,
            "schema_override: the file does not exist"
        );
        return Ok(requested);
    }
    let problem =
        |problem: String| Error::config("schema_override", format!("{configured}: {problem}"));
    let mut text = Vec::new();
    let read = File::open(&path)
        .and_then(|file| file.take(SCHEMA_BYTES as u64 + 1).read_to_end(&mut text));
    read.map_err(|error| problem(format!("cannot be read: {error}")))?;
    if text.len() > SCHEMA_BYTES {
        return Err(problem(format!(
            "has more than {SCHEMA_BYTES} bytes: use a smaller schema"
        )));
    }
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|error| problem(format!("is not JSON: {error}")))
}
