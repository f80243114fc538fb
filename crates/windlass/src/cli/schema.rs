//! `--schema`: requests an answer that is JSON and valid against a schema.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::Value;
use windlass_core::structured::{SCHEMA_BYTES, StructuredCall, ValidationPolicy};
use windlass_core::{AgentHandle, SchemaSetting, StructuredAgentTask};

use super::exit::CliError;

/// Maximum size of the schema file. It is larger than the schema limit because files contain whitespace.
const FILE_BYTES: usize = 4 * SCHEMA_BYTES;

#[derive(Debug, Args)]
pub(super) struct SchemaArgs {
    /// Require an answer in JSON that is valid against the JSON schema in this file
    #[arg(long = "schema", value_name = "FILE")]
    file: Option<PathBuf>,
    /// How the schema is passed to the agent; the answer is validated in every mode
    #[arg(
        long = "schema-mode",
        value_name = "MODE",
        value_enum,
        default_value_t,
        requires = "file"
    )]
    mode: SchemaModeArg,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum SchemaModeArg {
    /// As the agent's `schema_mode` says; without it, native if the agent supports it, else in the prompt
    #[default]
    Auto,
    /// The agent enforces the schema
    Native,
    /// The schema is added to the prompt
    Prompt,
    /// The agent does not receive the schema
    None,
}

impl From<SchemaModeArg> for SchemaSetting {
    fn from(mode: SchemaModeArg) -> Self {
        match mode {
            SchemaModeArg::Auto => Self::Auto,
            SchemaModeArg::Native => Self::Native,
            SchemaModeArg::Prompt => Self::Prompt,
            SchemaModeArg::None => Self::None,
        }
    }
}

impl SchemaArgs {
    /// Returns the structured call, or `None` without `--schema`.
    pub(super) fn structured_call(
        &self,
        prompt: &str,
        agent: &AgentHandle,
    ) -> Result<Option<StructuredCall>, CliError> {
        let Some(file) = &self.file else {
            return Ok(None);
        };
        let task = StructuredAgentTask {
            name: file.display().to_string(),
            prompt: prompt.to_owned(),
            schema: Some(read(file)?),
            schema_mode: agent.schema_mode(self.mode.into()),
        };
        Ok(Some(StructuredCall::new(
            task,
            ValidationPolicy::default(),
        )?))
    }
}

fn read(path: &Path) -> Result<Value, CliError> {
    let shown = path.display();
    let unreadable = |error| CliError::usage(format!("the schema {shown} cannot be read: {error}"));
    let mut text = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(FILE_BYTES as u64 + 1)
        .read_to_end(&mut text)
        .map_err(unreadable)?;
    if text.len() > FILE_BYTES {
        return Err(CliError::usage(format!(
            "the schema {shown} has more than {FILE_BYTES} bytes: use a smaller schema"
        )));
    }
    serde_json::from_slice(&text)
        .map_err(|error| CliError::usage(format!("the schema {shown} is not JSON: {error}")))
}
