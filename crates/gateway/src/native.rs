//! Requests to a model that accepts messages and the caller's tools unchanged.

use futures::StreamExt;
use futures::stream::BoxStream;
use windlass_agents::model::{CompletionContext, CompletionModel};
use windlass_core::structured::{Round, StructuredCall, TurnFailure, TurnRunner};
use windlass_core::{AgentEvent, SchemaSetting, TraceCollector};
use windlass_wire::{
    Message, ModelError, ModelEvent, ModelRequest, ModelResponse, OutputFormat, Part,
    ResponseBuilder, Role, StopReason,
};

use crate::client::AbortReason;
use crate::job::RequestJob;
use crate::trace::RequestTrace;
use crate::translate::to_core_usage;
use crate::{errors, structured};

/// Responds with the model's events.
pub(crate) async fn answer(
    job: &RequestJob,
    native: &dyn CompletionModel,
    trace: &mut RequestTrace,
) -> Result<(), AbortReason> {
    let context = CompletionContext {
        nodes: TraceCollector::default(),
        work: job.work.clone(),
    };
    let mut request = job.request.clone();
    if let Some(model) = &job.served.model {
        request.model.clone_from(model);
    }
    let mode = job.served.agent.schema_mode(SchemaSetting::Auto);
    let call = structured::structured_call(&request, &job.served.name, mode, String::new())?;
    let limit = job.served.agent.limits().deadline;
    let work = async {
        match call {
            Some(call) => answer_structured(job, native, request, call, &context, trace).await,
            None => forward(job, native.complete_in(request, &context), trace).await,
        }
    };
    let result = tokio::select! {
        result = work => result,
        reason = job.client.closed() => Err(reason),
        () = job.client.clock().sleep(limit) => {
            let seconds = limit.as_secs_f64();
            let message = format!("{} exceeded its time limit of {seconds} s", job.served.name);
            Err(errors::timeout(message).into())
        }
    };
    trace.add_children(context.nodes.take());
    result
}

/// Forwards the events, with the request's own response id.
async fn forward(
    job: &RequestJob,
    mut events: BoxStream<'static, ModelEvent>,
    trace: &mut RequestTrace,
) -> Result<(), AbortReason> {
    let mut started = false;
    while let Some(event) = events.next().await {
        match event {
            ModelEvent::Error(error) => {
                return Err(errors::from_model(&job.served.name, error).into());
            }
            ModelEvent::Start { .. } if started => continue,
            _ if !started => {
                started = true;
                job.client.send(job.start()).await?;
            }
            _ => {}
        }
        match event {
            ModelEvent::Start { .. } => {}
            ModelEvent::Usage(usage) => {
                trace.add_usage(to_core_usage(&usage));
                job.client.send(event).await?;
            }
            ModelEvent::Done => return job.client.send(event).await,
            event => job.client.send(event).await?,
        }
    }
    let message = format!("{} ended without a terminal event", job.served.name);
    Err(errors::upstream(message).into())
}

/// Repeats the request until the answer matches the schema. An answer that calls a tool is not final, and is
/// sent unchanged.
async fn answer_structured(
    job: &RequestJob,
    native: &dyn CompletionModel,
    mut request: ModelRequest,
    call: StructuredCall,
    context: &CompletionContext,
    trace: &mut RequestTrace,
) -> Result<(), AbortReason> {
    let name = &job.served.name;
    let enforces = job.served.agent.capabilities().native_schema;
    if !enforces {
        request.output = OutputFormat::Text;
    }
    let mut turns = ModelTurns {
        name,
        native,
        context,
        request,
        // A model that enforces the schema needs no first prompt for it.
        send_prompt: !enforces,
    };
    let answer = match call.run(&mut turns).await {
        Ok(result) => result.map_err(|error| errors::from_structured(name, &error))?,
        Err(ModelStop::Failed(error)) => return Err(error.into()),
        Err(ModelStop::NotFinal(response)) => return send_whole(job, &response, trace).await,
    };
    trace.add_usage(answer.usage.clone().unwrap_or_default());
    structured::send_answer(job, &answer).await
}

/// Repeats a request with the conversation so far.
struct ModelTurns<'a> {
    name: &'a str,
    native: &'a dyn CompletionModel,
    context: &'a CompletionContext,
    request: ModelRequest,
    send_prompt: bool,
}

/// Why there is no answer to validate.
enum ModelStop {
    Failed(ModelError),
    /// The response calls a tool, or was truncated.
    NotFinal(Box<ModelResponse>),
}

impl TurnRunner for ModelTurns<'_> {
    type Stop = ModelStop;

    async fn run_turn(&mut self, round: &mut Round<'_>) -> Result<(), TurnFailure<ModelStop>> {
        if self.send_prompt {
            append_user_text(&mut self.request, round.prompt().trim());
        }
        self.send_prompt = true;
        let mut events = self.native.complete_in(self.request.clone(), self.context);
        let mut builder = ResponseBuilder::default();
        while let Some(event) = events.next().await {
            builder.push(&event).map_err(|error| {
                let error = errors::from_model(self.name, error);
                TurnFailure::Stopped(ModelStop::Failed(error))
            })?;
        }
        let response = builder.build();
        let is_last = matches!(
            response.stop_or_implied(),
            StopReason::EndTurn | StopReason::StopSequence
        );
        if !is_last {
            let response = Box::new(response);
            return Err(TurnFailure::Stopped(ModelStop::NotFinal(response)));
        }
        round.on_event(&AgentEvent::Result {
            text: response.text(),
            usage: response.usage.as_ref().map(to_core_usage),
            metadata: serde_json::Value::Null,
        });
        let parts = vec![Part::text(response.text())];
        let answer = Message::new(Role::Assistant, parts);
        self.request.messages.push(answer);
        Ok(())
    }
}

/// Sends a response that was already received completely.
async fn send_whole(
    job: &RequestJob,
    response: &ModelResponse,
    trace: &mut RequestTrace,
) -> Result<(), AbortReason> {
    let events = futures::stream::iter(response.to_events()).boxed();
    forward(job, events, trace).await
}

/// Appends text to the user's last message, or adds a message.
fn append_user_text(request: &mut ModelRequest, text: &str) {
    let part = Part::text(text);
    match request.messages.last_mut() {
        Some(last) if last.role == Role::User => last.parts.push(part),
        _ => request.messages.push(Message::new(Role::User, vec![part])),
    }
}
