//! Requests to a model that accepts messages and the caller's tools unchanged.

use futures::StreamExt;
use futures::stream::BoxStream;
use windlass_agents::model::CompletionModel;
use windlass_core::structured::StructuredCall;
use windlass_core::{AgentEvent, TraceCollector};
use windlass_wire::{
    Message, ModelEvent, ModelRequest, ModelResponse, OutputFormat, Part, ResponseBuilder, Role,
    StopReason,
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
    let nodes = TraceCollector::default();
    let mut request = job.request.clone();
    if let Some(model) = &job.served.model {
        request.model.clone_from(model);
    }
    let capabilities = job.served.agent.capabilities();
    let call =
        structured::structured_call(&request, &job.served.name, capabilities, String::new())?;
    let limit = job.served.agent.limits().deadline;
    let work = async {
        match call {
            Some(call) => answer_structured(job, native, request, call, &nodes, trace).await,
            None => forward(job, native.complete_traced(request, &nodes), trace).await,
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
    trace.add_children(nodes.take());
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
    mut call: StructuredCall,
    nodes: &TraceCollector,
    trace: &mut RequestTrace,
) -> Result<(), AbortReason> {
    let name = &job.served.name;
    let enforces = job.served.agent.capabilities().native_schema;
    if !enforces {
        request.output = OutputFormat::Text;
        append_user_text(&mut request, call.prompt().trim());
    }
    loop {
        let mut events = native.complete_traced(request.clone(), nodes);
        let mut builder = ResponseBuilder::default();
        while let Some(event) = events.next().await {
            let pushed = builder.push(&event);
            pushed.map_err(|error| errors::from_model(name, error))?;
        }
        let response = builder.build();
        let is_last = matches!(
            response.stop_or_implied(),
            StopReason::EndTurn | StopReason::StopSequence
        );
        if !is_last {
            return send_whole(job, &response, trace).await;
        }
        call.on_event(&AgentEvent::Result {
            text: response.text(),
            usage: response.usage.as_ref().map(to_core_usage),
            metadata: serde_json::Value::Null,
        });
        let outcome = call.finish_turn();
        match outcome.map_err(|error| errors::from_structured(name, &error))? {
            Some(answer) => {
                trace.add_usage(answer.usage.clone().unwrap_or_default());
                return structured::send_answer(job, &answer).await;
            }
            None => {
                let parts = vec![Part::text(response.text())];
                request.messages.push(Message::new(Role::Assistant, parts));
                append_user_text(&mut request, call.prompt());
            }
        }
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
