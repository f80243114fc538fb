//! The common part of all tools: name, schema, validated arguments and blocking calls.

use std::fmt::Debug;
use std::sync::Arc;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use windlass_core::{Error, ErrorCode, Result};
use windlass_core::{Tool, ToolKind, ToolOutput, ToolSpec};

use crate::schema;

/// A tool implementation. Its schema is derived from its input type.
pub(crate) trait ToolHandler: Debug + Send + Sync + 'static {
    /// The name for the model.
    const NAME: &'static str;
    /// The description for the model.
    const DESCRIPTION: &'static str;
    /// The effect of the tool.
    const KIND: ToolKind;
    /// The arguments.
    type Input: DeserializeOwned + JsonSchema + Send + 'static;

    /// Runs the tool.
    fn run(&self, input: Self::Input) -> BoxFuture<'_, Result<ToolOutput>>;

    /// Returns the files that a call names, if they are not in a `path` argument.
    fn paths(_: Self::Input) -> Option<Vec<String>> {
        None
    }
}

/// A handler with its specification.
#[derive(Debug)]
struct TypedTool<H> {
    spec: ToolSpec,
    handler: H,
}

/// Converts a handler to a tool.
pub(crate) fn tool<H: ToolHandler>(handler: H) -> Arc<dyn Tool> {
    Arc::new(TypedTool {
        spec: ToolSpec::new(
            H::NAME,
            H::KIND,
            H::DESCRIPTION,
            schema::input_schema::<H::Input>(),
        ),
        handler,
    })
}

impl<H: ToolHandler> Tool for TypedTool<H> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn paths(&self, input: &Value) -> Vec<String> {
        let known = arguments(input.clone()).ok().and_then(H::paths);
        let path = || input.get("path").and_then(Value::as_str);
        known.unwrap_or_else(|| path().map(str::to_owned).into_iter().collect())
    }

    fn call(&self, input: Value) -> BoxFuture<'_, Result<ToolOutput>> {
        match arguments::<H::Input>(input) {
            Ok(input) => self.handler.run(input),
            Err(problem) => {
                let text = format!("{}: invalid arguments: {problem}", H::NAME);
                Box::pin(async { Ok(rejected(text)) })
            }
        }
    }
}

/// Parses the arguments. Some models pass them as a JSON string.
fn arguments<T: DeserializeOwned>(input: Value) -> Result<T, serde_json::Error> {
    match input {
        Value::String(text) => serde_json::from_str(&text),
        Value::Null => serde_json::from_value(json!({})),
        other => serde_json::from_value(other),
    }
}

/// Returns the output for a call that cannot be performed as requested.
pub(crate) fn rejected(text: String) -> ToolOutput {
    let output = json!({"ok": false, "detail": text});
    ToolOutput::failure(text, output)
}

/// Runs blocking work on a thread where it may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let result = tokio::task::spawn_blocking(work).await;
    result.map_err(|error| Error::agent(ErrorCode::ToolFailed, format!("the tool failed: {error}")))
}
