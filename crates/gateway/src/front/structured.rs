//! Answers that must fit a schema.

use serde_json::{Value, json};
use windlass_core::structured::{Dialog, Rules, Structured, schema_mode_for};
use windlass_core::{Capabilities, SchemaSetting, StructuredAgentTask};
use windlass_wire::{ModelError, ModelEvent, ModelRequest, OutputFormat, StopReason};

use super::job::Job;
use super::refusal;
use super::speak::counted;
use super::voice::Halt;

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
pub(super) fn dialog(
    request: &ModelRequest,
    agent: &str,
    capabilities: Capabilities,
    prompt: String,
) -> Result<Option<Dialog>, ModelError> {
    let Some((name, schema)) = schema(request) else {
        return Ok(None);
    };
    let task = StructuredAgentTask {
        name,
        prompt,
        schema: Some(schema),
        schema_mode: schema_mode_for(SchemaSetting::Auto, capabilities),
    };
    let dialog = Dialog::new(task, Rules::default());
    dialog
        .map(Some)
        .map_err(|error| refusal::of_structured(agent, &error))
}

/// Tells an answer that fits, as the plain JSON that it is.
pub(super) async fn tell(job: &Job, answer: &Structured) -> Result<(), Halt> {
    let usage = answer.usage.as_ref().map(counted);
    let text = answer.value.to_string();
    job.voice.say(job.start()).await?;
    job.voice.say(ModelEvent::TextDelta { text }).await?;
    if let Some(usage) = usage {
        job.voice.say(ModelEvent::Usage(usage)).await?;
    }
    let reason = StopReason::EndTurn;
    job.voice.say(ModelEvent::Stop { reason }).await?;
    job.voice.say(ModelEvent::Done).await
}
