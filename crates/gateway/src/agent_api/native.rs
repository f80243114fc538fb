//! A request to somebody who takes messages and the caller's tools as they are.

use futures::StreamExt;
use futures::stream::BoxStream;
use windlass_agents::model::CompletionModel;
use windlass_core::structured::StructuredCall;
use windlass_core::{AgentEvent, TraceCollector};
use windlass_wire::{
    Message, ModelEvent, ModelRequest, ModelResponse, OutputFormat, Part, ResponseBuilder, Role,
    StopReason,
};

use super::client::AbortReason;
use super::job::RequestJob;
use super::trace::RequestTrace;
use super::translate::to_core_usage;
use super::{errors, structured};

/// Answers with what the model says.
pub(super) async fn answer(
    job: &RequestJob,
    native: &dyn CompletionModel,
    book: &mut RequestTrace,
) -> Result<(), AbortReason> {
    let nodes = TraceCollector::default();
    let mut request = job.request.clone();
    if let Some(model) = &job.served.model {
        request.model.clone_from(model);
    }
    let capabilities = job.served.agent.capabilities();
    let dialog =
        structured::structured_call(&request, &job.served.name, capabilities, String::new())?;
    let limit = job.served.agent.limits().deadline;
    let work = async {
        match dialog {
            Some(dialog) => answer_structured(job, native, request, dialog, &nodes, book).await,
            None => forward(job, native.complete_traced(request, &nodes), book).await,
        }
    };
    let answered = tokio::select! {
        answered = work => answered,
        halt = job.voice.closed() => Err(halt),
        () = job.voice.clock().sleep(limit) => {
            let seconds = limit.as_secs_f64();
            let message = format!("{} took longer than {seconds} s", job.served.name);
            Err(errors::timeout(message).into())
        }
    };
    book.add_children(nodes.take());
    answered
}

/// Passes the events on, under our own name for the answer.
async fn forward(
    job: &RequestJob,
    mut events: BoxStream<'static, ModelEvent>,
    book: &mut RequestTrace,
) -> Result<(), AbortReason> {
    let mut begun = false;
    while let Some(event) = events.next().await {
        match event {
            ModelEvent::Error(error) => {
                return Err(errors::from_model(&job.served.name, error).into());
            }
            ModelEvent::Start { .. } if begun => continue,
            _ if !begun => {
                begun = true;
                job.voice.send(job.start()).await?;
            }
            _ => {}
        }
        match event {
            ModelEvent::Start { .. } => {}
            ModelEvent::Usage(usage) => {
                book.add_usage(to_core_usage(&usage));
                job.voice.send(event).await?;
            }
            ModelEvent::Done => return job.voice.send(event).await,
            event => job.voice.send(event).await?,
        }
    }
    let message = format!("{} ended without saying how", job.served.name);
    Err(errors::upstream(message).into())
}

/// Asks until the answer fits. An answer that calls a tool is not the last one, and goes out as it is.
async fn answer_structured(
    job: &RequestJob,
    native: &dyn CompletionModel,
    mut request: ModelRequest,
    mut dialog: StructuredCall,
    nodes: &TraceCollector,
    book: &mut RequestTrace,
) -> Result<(), AbortReason> {
    let name = &job.served.name;
    let enforces = job.served.agent.capabilities().native_schema;
    if !enforces {
        request.output = OutputFormat::Text;
        append_user_text(&mut request, dialog.prompt().trim());
    }
    loop {
        let mut events = native.complete_traced(request.clone(), nodes);
        let mut fold = ResponseBuilder::default();
        while let Some(event) = events.next().await {
            let pushed = fold.push(&event);
            pushed.map_err(|error| errors::from_model(name, error))?;
        }
        let response = fold.build();
        let is_last = matches!(
            response.stop_or_implied(),
            StopReason::EndTurn | StopReason::StopSequence
        );
        if !is_last {
            return send_whole(job, &response, book).await;
        }
        dialog.on_event(&AgentEvent::Result {
            text: response.text(),
            usage: response.usage.as_ref().map(to_core_usage),
            metadata: serde_json::Value::Null,
        });
        let settled = dialog.finish_turn();
        match settled.map_err(|error| errors::from_structured(name, &error))? {
            Some(answer) => {
                book.add_usage(answer.usage.clone().unwrap_or_default());
                return structured::send_answer(job, &answer).await;
            }
            None => {
                let said = vec![Part::text(response.text())];
                request.messages.push(Message::new(Role::Assistant, said));
                append_user_text(&mut request, dialog.prompt());
            }
        }
    }
}

/// An answer that is passed on although it was heard to its end.
async fn send_whole(
    job: &RequestJob,
    response: &ModelResponse,
    book: &mut RequestTrace,
) -> Result<(), AbortReason> {
    let events = futures::stream::iter(response.to_events()).boxed();
    forward(job, events, book).await
}

/// Lets the user say more.
fn append_user_text(request: &mut ModelRequest, words: &str) {
    let part = Part::text(words);
    match request.messages.last_mut() {
        Some(last) if last.role == Role::User => last.parts.push(part),
        _ => request.messages.push(Message::new(Role::User, vec![part])),
    }
}
