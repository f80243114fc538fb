//! A request to an agent that takes only text: one prompt in a fresh session, in a folder of its own.

use std::path::Path;

use windlass_agents::cli::transcript;
use windlass_core::structured::Dialog;
use windlass_core::{Aftermath, AgentEvent, ErrorCode, PermissionPolicy, SessionOptions};
use windlass_wire::{ErrorKind, ModelError};

use super::book::Book;
use super::job::Job;
use super::place::Place;
use super::speak::Speaker;
use super::turn::Turn;
use super::voice::Halt;
use super::{check, refusal, structured, told};

/// Answers by a turn of the agent. When this returns, the turn is over and its folder is gone.
pub(super) async fn answer(job: &Job, book: &mut Book) -> Result<(), Halt> {
    let opened = Place::open(job.served.folder.as_deref(), &job.shared.rooms);
    let place = opened.map_err(|error| {
        tracing::error!(%error, "no folder for a request");
        ModelError::new(ErrorKind::Overloaded, "there is no folder to work in")
    })?;
    let answered = converse(job, book, place.root()).await;
    place.close().await;
    answered
}

async fn converse(job: &Job, book: &mut Book, folder: &Path) -> Result<(), Halt> {
    let options = SessionOptions {
        model: job.served.model.clone(),
        permissions: PermissionPolicy::Allow,
        read_only: !job.served.may_write,
        once: true,
        ..SessionOptions::in_dir(folder)
    };
    let messages = transcript::messages(&job.request);
    let prompt = told::prompt(&messages);
    let capabilities = job.served.agent.capabilities();
    match structured::dialog(&job.request, &job.served.name, capabilities, prompt.clone())? {
        Some(dialog) => fit(job, book, options, messages, dialog).await,
        None => speak(job, book, options, prompt).await,
    }
}

/// One turn, told as it happens.
async fn speak(
    job: &Job,
    book: &mut Book,
    options: SessionOptions,
    prompt: String,
) -> Result<(), Halt> {
    let name = &job.served.name;
    let mut speaker = Speaker::new(job.request.stream, check::wants_thoughts(&job.request));
    book.turn_begins(name);
    let mut turn = Turn::begin(&job.served.agent, name, options, prompt, &job.voice).await?;
    let mut told = job.voice.say(job.start()).await;
    let mut wait = None;
    while let Some(event) = turn.next().await {
        book.hear(&event);
        wait = Aftermath::of(&event)
            .and_then(|left| left.retry_after())
            .or(wait);
        if let Some(mut error) = failure(name, &event) {
            if error.kind == ErrorKind::RateLimited {
                error.retry_after = wait.or(error.retry_after);
            }
            told = told.and(Err(error.into()));
        }
        for said in speaker.hear(&event) {
            if told.is_ok() {
                told = job.voice.say(said).await;
            }
        }
    }
    job.voice.check().and(told)
}

/// As many turns as it takes until the answer fits the schema. Each is told the whole conversation: nobody remembers.
async fn fit(
    job: &Job,
    book: &mut Book,
    options: SessionOptions,
    mut messages: Vec<transcript::Message>,
    mut dialog: Dialog,
) -> Result<(), Halt> {
    let name = &job.served.name;
    let options = dialog.session_options(options);
    let mut prompt = dialog.prompt().to_owned();
    loop {
        book.turn_begins(name);
        let begun = Turn::begin(&job.served.agent, name, options.clone(), prompt, &job.voice);
        let mut turn = begun.await?;
        let mut said = String::new();
        while let Some(event) = turn.next().await {
            book.hear(&event);
            dialog.hear(&event);
            match &event {
                AgentEvent::Text(text) => said.push_str(text),
                AgentEvent::Result { text, .. } if !text.trim().is_empty() => {
                    said.clone_from(text);
                }
                _ => {}
            }
        }
        job.voice.check()?;
        let settled = dialog.settle();
        match settled.map_err(|error| refusal::of_structured(name, &error))? {
            Some(answer) => return structured::tell(job, &answer).await,
            None => {
                messages.push(transcript::Message::assistant(said));
                messages.push(transcript::Message::user(dialog.prompt()));
                prompt = transcript::render(&messages);
            }
        }
    }
}

/// The failure that a turn ended with.
fn failure(name: &str, event: &AgentEvent) -> Option<ModelError> {
    match event {
        AgentEvent::Error { code, message, .. } => Some(refusal::of_turn(name, *code, message)),
        AgentEvent::SessionInvalid { reason } => {
            Some(refusal::of_turn(name, ErrorCode::SessionOrphaned, reason))
        }
        _ => None,
    }
}
