//! Answers that must match a schema.

use serde_json::{Value, json};
use windlass_agents::model::TranscriptTools;
use windlass_core::structured::{StructuredAnswer, StructuredCall, ValidationPolicy};
use windlass_core::{SchemaMode, StructuredAgentTask};
use windlass_wire::{ModelError, ModelEvent, ModelRequest, OutputFormat, StopReason};

use crate::client::AbortReason;
use crate::errors;
use crate::job::RequestJob;
use crate::translate::to_wire_usage;

/// Returns the requested schema, if any.
fn schema(request: &ModelRequest) -> Option<(String, Value)> {
    match &request.output {
        OutputFormat::JsonSchema(format) => {
            let name = format.name.clone().unwrap_or_else(|| "answer".to_owned());
            Some((name, format.schema.clone()))
        }
        OutputFormat::Json => Some(("answer".to_owned(), json!({ "type": "object" }))),
        _ => None,
    }
}

/// Creates the structured call for a request that has a schema. An invalid schema is an error of the caller.
pub(crate) fn structured_call(
    request: &ModelRequest,
    agent: &str,
    schema_mode: SchemaMode,
    prompt: String,
) -> Result<Option<StructuredCall>, ModelError> {
    let Some((name, schema)) = schema(request) else {
        return Ok(None);
    };
    let task = StructuredAgentTask {
        name,
        prompt,
        schema: Some(schema),
        schema_mode,
    };
    let call = StructuredCall::new(task, ValidationPolicy::default());
    call.map(Some)
        .map_err(|error| errors::from_structured(agent, &error))
}

/// Creates the structured call for a request with tools: its answer is one action. The prompt already contains the
/// schemas of the tools.
pub(crate) fn tool_call(
    tools: &TranscriptTools,
    agent: &str,
    prompt: String,
) -> Result<StructuredCall, ModelError> {
    let task = StructuredAgentTask {
        name: "tools".to_owned(),
        prompt,
        schema: Some(tools.schema().clone()),
        schema_mode: SchemaMode::None,
    };
    let call = StructuredCall::new(task, ValidationPolicy::default());
    call.map_err(|error| errors::from_structured(agent, &error))
}

/// Sends a valid action: a call of one of the caller's tools, or the answer.
pub(crate) async fn send_action(
    job: &RequestJob,
    tools: &TranscriptTools,
    answer: &StructuredAnswer,
) -> Result<(), AbortReason> {
    let usage = answer.usage.as_ref().map(to_wire_usage);
    let events = tools
        .events(&answer.value, usage)
        .map_err(|error| errors::from_model(&job.served.name, error))?;
    job.client.send(job.start()).await?;
    for event in events {
        job.client.send(event).await?;
    }
    Ok(())
}

/// Sends a valid answer as plain JSON.
pub(crate) async fn send_answer(
    job: &RequestJob,
    answer: &StructuredAnswer,
) -> Result<(), AbortReason> {
    let usage = answer.usage.as_ref().map(to_wire_usage);
    let text = answer.value.to_string();
    job.client.send(job.start()).await?;
    job.client.send(ModelEvent::TextDelta { text }).await?;
    if let Some(usage) = usage {
        job.client.send(ModelEvent::Usage(usage)).await?;
    }
    let reason = StopReason::EndTurn;
    job.client.send(ModelEvent::Stop { reason }).await?;
    job.client.send(ModelEvent::Done).await
}

#[cfg(test)]
mod tests {
    use windlass_wire::{FunctionTool, ToolDefinition};

    use super::*;

    #[test]
    fn schemas_of_tools_that_are_too_large_are_an_error_of_the_caller() {
        let mut tool = FunctionTool::new("weather");
        tool.schema["description"] = "x".repeat(300 << 10).into();
        let request = ModelRequest {
            tools: vec![ToolDefinition::Function(tool)],
            ..ModelRequest::new("m")
        };
        let tools = TranscriptTools::new(request);
        let error = tool_call(&tools, "codex", String::new()).unwrap_err();
        assert_eq!(error.status, 400, "{}", error.message);
        assert!(error.message.contains("the limit is"), "{}", error.message);
    }
}
