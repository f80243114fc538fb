//! Answers that must fit a schema.

use serde_json::{Value, json};
use windlass_core::structured::{
    StructuredAnswer, StructuredCall, ValidationPolicy, schema_mode_for,
};
use windlass_core::{Capabilities, SchemaSetting, StructuredAgentTask};
use windlass_wire::{ModelError, ModelEvent, ModelRequest, OutputFormat, StopReason};

use super::client::AbortReason;
use super::errors;
use super::job::RequestJob;
use super::translate::to_wire_usage;

/// The schema that the caller asks for, where it does.
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

/// The structured call that a request means, where it means one. A bad schema is the caller's mistake.
pub(super) fn structured_call(
    request: &ModelRequest,
    agent: &str,
    capabilities: Capabilities,
    prompt: String,
) -> Result<Option<StructuredCall>, ModelError> {
    let Some((name, schema)) = schema(request) else {
        return Ok(None);
    };
    let task = StructuredAgentTask {
        name,
        prompt,
        schema: Some(schema),
        schema_mode: schema_mode_for(SchemaSetting::Auto, capabilities),
    };
    let dialog = StructuredCall::new(task, ValidationPolicy::default());
    dialog
        .map(Some)
        .map_err(|error| errors::from_structured(agent, &error))
}

/// Tells an answer that fits, as the plain JSON that it is.
pub(super) async fn send_answer(
    job: &RequestJob,
    answer: &StructuredAnswer,
) -> Result<(), AbortReason> {
    let usage = answer.usage.as_ref().map(to_wire_usage);
    let text = answer.value.to_string();
    job.voice.send(job.start()).await?;
    job.voice.send(ModelEvent::TextDelta { text }).await?;
    if let Some(usage) = usage {
        job.voice.send(ModelEvent::Usage(usage)).await?;
    }
    let reason = StopReason::EndTurn;
    job.voice.send(ModelEvent::Stop { reason }).await?;
    job.voice.send(ModelEvent::Done).await
}
