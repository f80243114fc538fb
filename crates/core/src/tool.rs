//! What a model may be offered to do.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Result;

/// What a tool does to the world: the ground on which it is allowed, denied or asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolKind {
    /// Only looks.
    Read,
    /// Changes files.
    Write,
    /// Runs programs.
    Execute,
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// What the model calls it.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON schema of its input.
    pub parameters: Value,
    /// What it does to the world.
    pub kind: ToolKind,
}

impl ToolSpec {
    /// The tool in the shape that OpenAI's API made common.
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

/// Something that a model may do.
pub trait Tool: fmt::Debug + Send + Sync {
    /// How a model sees it.
    fn spec(&self) -> &ToolSpec;

    /// The files that a call with this input is about, for the rules that name places. Not those that a program may touch.
    fn paths(&self, input: &Value) -> Vec<String> {
        let path = input.get("path").and_then(Value::as_str);
        path.map(str::to_owned).into_iter().collect()
    }

    /// Does it. Bad input and faults of the system are outputs without success; an error is for what breaks
    /// a rule, such as a path that leaves the workspace. Dropping the future stops it.
    fn call(&self, input: Value) -> BoxFuture<'_, Result<ToolOutput>>;
}

/// What a tool gave back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// Whether it did what it was asked.
    pub success: bool,
    /// What the model is told.
    pub text: String,
    /// The same in fields, for whoever watches.
    pub output: Value,
}

/// Gives out the tools for work in a folder.
pub trait Toolbox: fmt::Debug + Send + Sync {
    /// The tools, bound to this folder.
    fn tools(&self, root: &Path) -> Result<Vec<Arc<dyn Tool>>>;
}
