//! Requests to an agent that accepts only text: one prompt in a new session, in its own directory.

use std::path::Path;

use windlass_agents::cli::transcript;
use windlass_core::structured::StructuredCall;
use windlass_core::{
    AgentEvent, DirAccess, ErrorCode, PermissionPolicy, SessionOptions, TurnDiagnostics,
};
use windlass_wire::{ErrorKind, ModelError};

use super::client::AbortReason;
use super::job::RequestJob;
use super::request_dir::RequestDir;
use super::trace::RequestTrace;
use super::translate::EventTranslator;
use super::turn::AgentTurn;
use super::{errors, prompt, structured, validate};

/// Responds with one turn of the agent. When this returns, the turn has ended and its directory is gone.
pub(super) async fn answer(job: &RequestJob, trace: &mut RequestTrace) -> Result<(), AbortReason> {
    let opened = RequestDir::open(job.served.folder.as_deref(), &job.state.request_dirs);
    let dir = opened.map_err(|error| {
        tracing::error!(%error, "cannot create request directory");
        ModelError::new(
            ErrorKind::Overloaded,
            "cannot create a working directory for the request",
        )
    })?;
    let result = run_session(job, trace, dir.root()).await;
    dir.close().await;
    result
}

async fn run_session(
    job: &RequestJob,
    trace: &mut RequestTrace,
    dir: &Path,
) -> Result<(), AbortReason> {
    let options = SessionOptions {
        model: job.served.model.clone(),
        permissions: PermissionPolicy::Allow,
        access: if job.served.may_write {
            DirAccess::Files
        } else {
            DirAccess::ReadOnly
        },
        once: true,
        ..SessionOptions::in_dir(dir)
    };
    let messages = transcript::messages(&job.request);
    let prompt = prompt::render_prompt(&messages);
    let capabilities = job.served.agent.capabilities();
    match structured::structured_call(&job.request, &job.served.name, capabilities, prompt.clone())?
    {
        Some(call) => answer_structured(job, trace, options, messages, call).await,
        None => run_turn(job, trace, options, prompt).await,
    }
}

/// Runs one turn and sends its events as they happen.
async fn run_turn(
    job: &RequestJob,
    trace: &mut RequestTrace,
    options: SessionOptions,
    prompt: String,
) -> Result<(), AbortReason> {
    let name = &job.served.name;
    let mut translator =
        EventTranslator::new(job.request.stream, validate::wants_reasoning(&job.request));
    trace.start_turn(name);
    let mut turn = AgentTurn::start(&job.served.agent, name, options, prompt, &job.client).await?;
    let mut sent = job.client.send(job.start()).await;
    let mut wait = None;
    while let Some(event) = turn.next().await {
        trace.on_event(&event);
        wait = TurnDiagnostics::from_event(&event)
            .and_then(|diagnostics| diagnostics.retry_after())
            .or(wait);
        if let Some(mut error) = failure(name, &event) {
            if error.kind == ErrorKind::RateLimited {
                error.retry_after = wait.or(error.retry_after);
            }
            sent = sent.and(Err(error.into()));
        }
        for event in translator.translate(&event) {
            if sent.is_ok() {
                sent = job.client.send(event).await;
            }
        }
    }
    job.client.check().and(sent)
}

/// Runs turns until the answer matches the schema. Each turn gets the whole conversation, because sessions
/// are not reused.
async fn answer_structured(
    job: &RequestJob,
    trace: &mut RequestTrace,
    options: SessionOptions,
    mut messages: Vec<transcript::TranscriptMessage>,
    mut call: StructuredCall,
) -> Result<(), AbortReason> {
    let name = &job.served.name;
    let options = call.session_options(options);
    let mut prompt = call.prompt().to_owned();
    loop {
        trace.start_turn(name);
        let started = AgentTurn::start(
            &job.served.agent,
            name,
            options.clone(),
            prompt,
            &job.client,
        );
        let mut turn = started.await?;
        let mut answer_text = String::new();
        while let Some(event) = turn.next().await {
            trace.on_event(&event);
            call.on_event(&event);
            match &event {
                AgentEvent::Text(text) => answer_text.push_str(text),
                AgentEvent::Result { text, .. } if !text.trim().is_empty() => {
                    answer_text.clone_from(text);
                }
                _ => {}
            }
        }
        job.client.check()?;
        let outcome = call.finish_turn();
        match outcome.map_err(|error| errors::from_structured(name, &error))? {
            Some(answer) => return structured::send_answer(job, &answer).await,
            None => {
                messages.push(transcript::TranscriptMessage::assistant(answer_text));
                messages.push(transcript::TranscriptMessage::user(call.prompt()));
                prompt = transcript::render(&messages);
            }
        }
    }
}

/// Returns the error that ended the turn, if any.
fn failure(name: &str, event: &AgentEvent) -> Option<ModelError> {
    match event {
        AgentEvent::Error { code, message, .. } => Some(errors::from_turn(name, *code, message)),
        AgentEvent::SessionInvalid { reason } => {
            Some(errors::from_turn(name, ErrorCode::SessionOrphaned, reason))
        }
        _ => None,
    }
}
