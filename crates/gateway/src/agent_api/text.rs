//! A request to an agent that takes only text: one prompt in a fresh session, in a folder of its own.

use std::path::Path;

use windlass_agents::cli::transcript;
use windlass_core::structured::StructuredCall;
use windlass_core::{AgentEvent, ErrorCode, PermissionPolicy, SessionOptions, TurnDiagnostics};
use windlass_wire::{ErrorKind, ModelError};

use super::client::AbortReason;
use super::job::RequestJob;
use super::request_dir::RequestDir;
use super::trace::RequestTrace;
use super::translate::EventTranslator;
use super::turn::AgentTurn;
use super::{errors, prompt, structured, validate};

/// Answers by a turn of the agent. When this returns, the turn is over and its folder is gone.
pub(super) async fn answer(job: &RequestJob, book: &mut RequestTrace) -> Result<(), AbortReason> {
    let opened = RequestDir::open(job.served.folder.as_deref(), &job.shared.rooms);
    let place = opened.map_err(|error| {
        tracing::error!(%error, "no folder for a request");
        ModelError::new(ErrorKind::Overloaded, "there is no folder to work in")
    })?;
    let answered = run_session(job, book, place.root()).await;
    place.close().await;
    answered
}

async fn run_session(
    job: &RequestJob,
    book: &mut RequestTrace,
    folder: &Path,
) -> Result<(), AbortReason> {
    let options = SessionOptions {
        model: job.served.model.clone(),
        permissions: PermissionPolicy::Allow,
        read_only: !job.served.may_write,
        once: true,
        ..SessionOptions::in_dir(folder)
    };
    let messages = transcript::messages(&job.request);
    let prompt = prompt::render_prompt(&messages);
    let capabilities = job.served.agent.capabilities();
    match structured::structured_call(&job.request, &job.served.name, capabilities, prompt.clone())?
    {
        Some(dialog) => answer_structured(job, book, options, messages, dialog).await,
        None => run_turn(job, book, options, prompt).await,
    }
}

/// One turn, told as it happens.
async fn run_turn(
    job: &RequestJob,
    book: &mut RequestTrace,
    options: SessionOptions,
    prompt: String,
) -> Result<(), AbortReason> {
    let name = &job.served.name;
    let mut speaker =
        EventTranslator::new(job.request.stream, validate::wants_reasoning(&job.request));
    book.start_turn(name);
    let mut turn = AgentTurn::start(&job.served.agent, name, options, prompt, &job.voice).await?;
    let mut told = job.voice.send(job.start()).await;
    let mut wait = None;
    while let Some(event) = turn.next().await {
        book.on_event(&event);
        wait = TurnDiagnostics::from_event(&event)
            .and_then(|left| left.retry_after())
            .or(wait);
        if let Some(mut error) = failure(name, &event) {
            if error.kind == ErrorKind::RateLimited {
                error.retry_after = wait.or(error.retry_after);
            }
            told = told.and(Err(error.into()));
        }
        for said in speaker.translate(&event) {
            if told.is_ok() {
                told = job.voice.send(said).await;
            }
        }
    }
    job.voice.check().and(told)
}

/// As many turns as it takes until the answer fits the schema. Each is told the whole conversation: nobody remembers.
async fn answer_structured(
    job: &RequestJob,
    book: &mut RequestTrace,
    options: SessionOptions,
    mut messages: Vec<transcript::TranscriptMessage>,
    mut dialog: StructuredCall,
) -> Result<(), AbortReason> {
    let name = &job.served.name;
    let options = dialog.session_options(options);
    let mut prompt = dialog.prompt().to_owned();
    loop {
        book.start_turn(name);
        let begun = AgentTurn::start(&job.served.agent, name, options.clone(), prompt, &job.voice);
        let mut turn = begun.await?;
        let mut said = String::new();
        while let Some(event) = turn.next().await {
            book.on_event(&event);
            dialog.on_event(&event);
            match &event {
                AgentEvent::Text(text) => said.push_str(text),
                AgentEvent::Result { text, .. } if !text.trim().is_empty() => {
                    said.clone_from(text);
                }
                _ => {}
            }
        }
        job.voice.check()?;
        let settled = dialog.finish_turn();
        match settled.map_err(|error| errors::from_structured(name, &error))? {
            Some(answer) => return structured::send_answer(job, &answer).await,
            None => {
                messages.push(transcript::TranscriptMessage::assistant(said));
                messages.push(transcript::TranscriptMessage::user(dialog.prompt()));
                prompt = transcript::render(&messages);
            }
        }
    }
}

/// The failure that a turn ended with.
fn failure(name: &str, event: &AgentEvent) -> Option<ModelError> {
    match event {
        AgentEvent::Error { code, message, .. } => Some(errors::from_turn(name, *code, message)),
        AgentEvent::SessionInvalid { reason } => {
            Some(errors::from_turn(name, ErrorCode::SessionOrphaned, reason))
        }
        _ => None,
    }
}
