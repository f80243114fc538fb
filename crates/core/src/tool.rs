//! The tools that a model is offered.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{DirAccess, Result};

/// The effect of a tool, used to allow, deny or ask about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolKind {
    /// Only reads.
    Read,
    /// Changes files.
    Write,
    /// Runs programs.
    Execute,
}

/// The description of a tool that a model receives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name that the model uses.
    pub name: String,
    /// The purpose of the tool.
    pub description: String,
    /// The JSON schema of its input.
    pub parameters: Value,
    /// The effect of the tool.
    pub kind: ToolKind,
}

impl ToolSpec {
    /// Creates the description of a tool with this name, effect, purpose and JSON schema of the input.
    pub fn new(
        name: impl Into<String>,
        kind: ToolKind,
        description: impl Into<String>,
        parameters: Value,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            kind,
        }
    }

    /// Returns the tool in the format of OpenAI's API, which other APIs also use.
    pub fn to_openai(&self) -> Value {
        json!({
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.parameters,
            },
        })
    }
}

/// A tool that a model can call.
pub trait Tool: fmt::Debug + Send + Sync {
    /// Returns the description for the model.
    fn spec(&self) -> &ToolSpec;

    /// Returns the files that a call with this input names, for permission rules with paths. Files that a
    /// program may touch are not included.
    fn paths(&self, input: &Value) -> Vec<String> {
        let path = input.get("path").and_then(Value::as_str);
        path.map(str::to_owned).into_iter().collect()
    }

    /// Calls the tool. Invalid input and system errors are outputs with `success` set to `false`. An `Err`
    /// is returned when the call violates a rule, e.g. when a path leaves the workspace. Dropping the
    /// future stops the call.
    fn call(&self, input: Value) -> BoxFuture<'_, Result<ToolOutput>>;
}

/// The output of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolOutput {
    /// Whether the call succeeded.
    pub success: bool,
    /// The text for the model.
    pub text: String,
    /// The same result as structured data, for observers of the turn.
    pub output: Value,
}

impl ToolOutput {
    /// Creates an output from whether the call succeeded, the text for the model, and structured data.
    pub fn new(success: bool, text: impl Into<String>, output: Value) -> Self {
        Self {
            success,
            text: text.into(),
            output,
        }
    }

    /// Creates the output of a call that succeeded.
    pub fn success(text: impl Into<String>, output: Value) -> Self {
        Self::new(true, text, output)
    }

    /// Creates the output of a call that failed.
    pub fn failure(text: impl Into<String>, output: Value) -> Self {
        Self::new(false, text, output)
    }
}

/// Provides the tools for a directory.
pub trait Toolbox: fmt::Debug + Send + Sync {
    /// Returns the tools, bound to this directory. `access` is what they may change in it.
    fn tools(&self, root: &Path, access: DirAccess) -> Result<Vec<Arc<dyn Tool>>>;
}
