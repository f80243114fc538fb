//! Gets an answer that matches a JSON schema. The first answer does not match; the agent is asked again.
//!
//! Run it with `cargo run -p windlass-testkit --example structured_call`.

use std::io::Write;

use serde_json::json;
use windlass_core::structured::{CallOptions, call};
use windlass_core::{AgentHandle, SchemaMode, StructuredAgentTask};
use windlass_testkit::MockAgent;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mock = MockAgent::new()
        .on_prompt("Rate this change")
        .respond_text("It is fine.")
        .on_prompt("")
        .respond_text(r#"{"score": 8, "reason": "small and tested"}"#);
    let task = StructuredAgentTask {
        name: "rate".to_owned(),
        prompt: "Rate this change.".to_owned(),
        schema: Some(json!({
            "type": "object",
            "properties": {"score": {"type": "integer"}, "reason": {"type": "string"}},
            "required": ["score", "reason"],
            "additionalProperties": false
        })),
        schema_mode: SchemaMode::Prompt,
    };
    let answer = call(&AgentHandle::wrap(mock), None, task, CallOptions::default()).await?;
    writeln!(std::io::stdout(), "{answer:?}")?;
    Ok(())
}
