//! Lookup of tools by name, for model loops.

use std::sync::Arc;

use serde_json::Value;
use windlass_core::Result;
use windlass_core::Tool;

/// Returns the tools in the format of OpenAI's API, which other APIs also use.
pub fn tool_schema(tools: &[Arc<dyn Tool>]) -> Vec<Value> {
    tools.iter().map(|tool| tool.spec().to_openai()).collect()
}

/// Calls a tool by its name and returns the text for the model.
///
/// An unknown name is also reported as text. Only a violated rule, such as a path outside the workspace, is
/// an error.
pub async fn dispatch_tool(tools: &[Arc<dyn Tool>], name: &str, args: Value) -> Result<String> {
    match tools.iter().find(|tool| tool.spec().name == name) {
        Some(tool) => Ok(tool.call(args).await?.text),
        None => {
            let known: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
            Ok(format!(
                "unknown tool: {name}: available: {}",
                known.join(", ")
            ))
        }
    }
}
