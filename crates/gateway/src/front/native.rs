//! A request to somebody who takes messages and the caller's tools as they are.

use futures::StreamExt;
use futures::stream::BoxStream;
use windlass_agents::model::Answers;
use windlass_core::structured::Dialog;
use windlass_core::{AgentEvent, TraceNodes};
use windlass_wire::{
    Fold, Message, ModelEvent, ModelRequest, ModelResponse, OutputFormat, Part, Role, StopReason,
};

use super::book::Book;
use super::job::Job;
use super::speak::uncounted;
use super::voice::Halt;
use super::{refusal, structured};

/// Answers with what the model says.
pub(super) async fn answer(job: &Job, native: &dyn Answers, book: &mut Book) -> Result<(), Halt> {
    let nodes = TraceNodes::default();
    let mut request = job.request.clone();
    if let Some(model) = &job.served.model {
        request.model.clone_from(model);
    }
    let capabilities = job.served.agent.capabilities();
    let dialog = structured::dialog(&request, &job.served.name, capabilities, String::new())?;
    let limit = job.served.agent.limits().deadline;
    let work = async {
        match dialog {
            Some(dialog) => fit(job, native, request, dialog, &nodes, book).await,
            None => pass(job, native.answer_with(request, &nodes), book).await,
        }
    };
    let answered = tokio::select! {
        answered = work => answered,
        halt = job.voice.lost() => Err(halt),
        () = job.voice.clock().sleep(limit) => {
            let seconds = limit.as_secs_f64();
            let message = format!("{} took longer than {seconds} s", job.served.name);
            Err(refusal::timeout(message).into())
        }
    };
    book.steps(nodes.take());
    answered
}

/// Passes the events on, under our own name for the answer.
async fn pass(
    job: &Job,
    mut events: BoxStream<'static, ModelEvent>,
    book: &mut Book,
) -> Result<(), Halt> {
    let mut begun = false;
    while let Some(event) = events.next().await {
        match event {
            ModelEvent::Error(error) => {
                return Err(refusal::of_model(&job.served.name, error).into());
            }
            ModelEvent::Start { .. } if begun => continue,
            _ if !begun => {
                begun = true;
                job.voice.say(job.start()).await?;
            }
            _ => {}
        }
        match event {
            ModelEvent::Start { .. } => {}
            ModelEvent::Usage(usage) => {
                book.consumed(uncounted(&usage));
                job.voice.say(event).await?;
            }
            ModelEvent::Done => return job.voice.say(event).await,
            event => job.voice.say(event).await?,
        }
    }
    let message = format!("{} ended without saying how", job.served.name);
    Err(refusal::upstream(message).into())
}

/// Asks until the answer fits. An answer that calls a tool is not the last one, and goes out as it is.
async fn fit(
    job: &Job,
    native: &dyn Answers,
    mut request: ModelRequest,
    mut dialog: Dialog,
    nodes: &TraceNodes,
    book: &mut Book,
) -> Result<(), Halt> {
    let name = &job.served.name;
    let enforces = job.served.agent.capabilities().native_schema;
    if !enforces {
        request.output = OutputFormat::Text;
        add_words(&mut request, dialog.prompt().trim());
    }
    loop {
        let mut events = native.answer_with(request.clone(), nodes);
        let mut fold = Fold::default();
        while let Some(event) = events.next().await {
            let pushed = fold.push(&event);
            pushed.map_err(|error| refusal::of_model(name, error))?;
        }
        let response = fold.into_response();
        let is_last = matches!(
            response.stop_or_implied(),
            StopReason::EndTurn | StopReason::StopSequence
        );
        if !is_last {
            return whole(job, &response, book).await;
        }
        dialog.hear(&AgentEvent::Result {
            text: response.text(),
            usage: response.usage.as_ref().map(uncounted),
            metadata: serde_json::Value::Null,
        });
        let settled = dialog.settle();
        match settled.map_err(|error| refusal::of_structured(name, &error))? {
            Some(answer) => {
                book.consumed(answer.usage.clone().unwrap_or_default());
                return structured::tell(job, &answer).await;
            }
            None => {
                let said = vec![Part::text(response.text())];
                request.messages.push(Message::new(Role::Assistant, said));
                add_words(&mut request, dialog.prompt());
            }
        }
    }
}

/// An answer that is passed on although it was heard to its end.
async fn whole(job: &Job, response: &ModelResponse, book: &mut Book) -> Result<(), Halt> {
    let events = futures::stream::iter(response.to_events()).boxed();
    pass(job, events, book).await
}

/// Lets the user say more.
fn add_words(request: &mut ModelRequest, words: &str) {
    let part = Part::text(words);
    match request.messages.last_mut() {
        Some(last) if last.role == Role::User => last.parts.push(part),
        _ => request.messages.push(Message::new(Role::User, vec![part])),
    }
}
