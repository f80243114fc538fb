//! What all tools have in common: a name, a schema, arguments that are checked, and a folder.

use std::fmt::Debug;
use std::sync::Arc;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use windlass_core::{Error, ErrorCode, Result};
use windlass_core::{Tool, ToolKind, ToolOutput, ToolSpec};

use crate::schema;

/// One thing that can be done. Its input type is its schema.
pub(crate) trait ToolHandler: Debug + Send + Sync + 'static {
    /// What the model calls it.
    const NAME: &'static str;
    /// What the model is told about it.
    const DESCRIPTION: &'static str;
    /// What it does to the world.
    const KIND: ToolKind;
    /// What it takes.
    type Input: DeserializeOwned + JsonSchema + Send + 'static;

    /// Does it.
    fn run(&self, input: Self::Input) -> BoxFuture<'_, Result<ToolOutput>>;

    /// The files that it is about, where that is more than a `path`.
    fn paths(_: Self::Input) -> Option<Vec<String>> {
        None
    }
}

/// A deed with its specification.
#[derive(Debug)]
struct TypedTool<D> {
    spec: ToolSpec,
    deed: D,
}

/// The deed as a tool.
pub(crate) fn tool<D: ToolHandler>(deed: D) -> Arc<dyn Tool> {
    Arc::new(TypedTool {
        spec: ToolSpec {
            name: D::NAME.to_owned(),
            description: D::DESCRIPTION.to_owned(),
            parameters: schema::input_schema::<D::Input>(),
            kind: D::KIND,
        },
        deed,
    })
}

impl<D: ToolHandler> Tool for TypedTool<D> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn paths(&self, input: &Value) -> Vec<String> {
        let known = arguments(input.clone()).ok().and_then(D::paths);
        let path = || input.get("path").and_then(Value::as_str);
        known.unwrap_or_else(|| path().map(str::to_owned).into_iter().collect())
    }

    fn call(&self, input: Value) -> BoxFuture<'_, Result<ToolOutput>> {
        match arguments::<D::Input>(input) {
            Ok(input) => self.deed.run(input),
            Err(problem) => {
                let text = format!("{}: bad arguments: {problem}", D::NAME);
                Box::pin(async { Ok(rejected(text)) })
            }
        }
    }
}

/// The arguments, which some models wrap into a string.
fn arguments<T: DeserializeOwned>(input: Value) -> Result<T, serde_json::Error> {
    match input {
        Value::String(text) => serde_json::from_str(&text),
        Value::Null => serde_json::from_value(json!({})),
        other => serde_json::from_value(other),
    }
}

/// An answer to what cannot be done as it was asked.
pub(crate) fn rejected(text: String) -> ToolOutput {
    ToolOutput {
        success: false,
        output: json!({"ok": false, "detail": text}),
        text,
    }
}

/// Does what would block, on a thread where it may.
pub(crate) async fn blocking<T: Send + 'static>(
    deed: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(deed).await;
    done.map_err(|error| Error::agent(ErrorCode::ToolFailed, format!("the tool broke: {error}")))
}
