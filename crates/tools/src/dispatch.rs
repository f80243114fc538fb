//! Tools by name, for loops that speak the common dialect of tool calls.

use std::sync::Arc;

use serde_json::Value;
use windlass_core::Result;
use windlass_core::Tool;

/// The tools in the shape that OpenAI's API made common.
pub fn tool_schema(tools: &[Arc<dyn Tool>]) -> Vec<Value> {
    tools.iter().map(|tool| tool.spec().to_openai()).collect()
}

/// Calls a tool by its name and gives what the model is to be told.
///
/// A name that no tool has is told as well; only a broken rule is an error.
pub async fn dispatch_tool(tools: &[Arc<dyn Tool>], name: &str, args: Value) -> Result<String> {
    match tools.iter().find(|tool| tool.spec().name == name) {
        Some(tool) => Ok(tool.call(args).await?.text),
        None => {
            let known: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
            Ok(format!(
                "unknown tool: {name}: there are {}",
                known.join(", ")
            ))
        }
    }
}
