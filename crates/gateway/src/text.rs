//! Requests to an agent that accepts only text: one prompt in a new session, in its own directory.

use std::path::Path;

use windlass_agents::cli::transcript;
use windlass_agents::model::TranscriptTools;
use windlass_core::structured::{Round, StructuredAnswer, StructuredCall, TurnFailure, TurnRunner};
use windlass_core::{
    AgentEvent, AgentHandle, DirAccess, ErrorCode, PermissionPolicy, SchemaSetting, SessionOptions,
    TurnDiagnostics,
};
use windlass_wire::{ErrorKind, ModelError};

use crate::client::AbortReason;
use crate::job::RequestJob;
use crate::request_dir::RequestDir;
use crate::trace::RequestTrace;
use crate::translate::EventTranslator;
use crate::turn::AgentTurn;
use crate::{errors, prompt, structured, validate};

/// Responds with one turn of the agent. When this returns, the turn has ended and its directory is gone.
pub(crate) async fn answer(job: &RequestJob, trace: &mut RequestTrace) -> Result<(), AbortReason> {
    let opened = RequestDir::open(job.served.dir.as_deref(), &job.state.request_dirs);
    let dir = opened.map_err(|error| {
        tracing::error!(%error, "cannot create request directory");
        ModelError::new(
            ErrorKind::Overloaded,
            "cannot create a working directory for the request",
        )
    })?;
    // Clients do not share the agent's processes, and none outlives the request.
    let agent = job.served.agent.scoped();
    let result = run_session(job, &agent, trace, dir.root()).await;
    agent.close().await;
    dir.close().await;
    result
}

async fn run_session(
    job: &RequestJob,
    agent: &AgentHandle,
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
        work: job.work.clone(),
        ..SessionOptions::in_dir(dir)
    };
    let name = &job.served.name;
    let has_tools = validate::may_call_tools(&job.request);
    if let Some(tools) = has_tools.then(|| TranscriptTools::new(job.request.clone())) {
        let messages = transcript::messages(tools.request());
        let call = structured::tool_call(&tools, name, prompt::render_prompt(&messages))?;
        let answer = structured_answer(job, agent, trace, options, messages, call).await?;
        return structured::send_action(job, &tools, &answer).await;
    }
    let messages = transcript::messages(&job.request);
    let prompt = prompt::render_prompt(&messages);
    let mode = agent.schema_mode(SchemaSetting::Auto);
    match structured::structured_call(&job.request, name, mode, prompt.clone())? {
        Some(call) => {
            let answer = structured_answer(job, agent, trace, options, messages, call).await?;
            structured::send_answer(job, &answer).await
        }
        None => run_turn(job, agent, trace, options, prompt).await,
    }
}

/// Runs one turn and sends its events as they happen.
async fn run_turn(
    job: &RequestJob,
    agent: &AgentHandle,
    trace: &mut RequestTrace,
    options: SessionOptions,
    prompt: String,
) -> Result<(), AbortReason> {
    let name = &job.served.name;
    let mut translator =
        EventTranslator::new(job.request.stream, validate::wants_reasoning(&job.request));
    trace.start_turn(name);
    let mut turn = AgentTurn::start(agent, name, options, prompt, &job.client).await?;
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
    match sent {
        // A client may close its connection as soon as it has the whole answer.
        Ok(()) => Ok(()),
        Err(error) => job.client.check().and(Err(error)),
    }
}

/// Runs turns until the answer matches the schema.
async fn structured_answer(
    job: &RequestJob,
    agent: &AgentHandle,
    trace: &mut RequestTrace,
    options: SessionOptions,
    messages: Vec<transcript::TranscriptMessage>,
    call: StructuredCall,
) -> Result<StructuredAnswer, AbortReason> {
    let mut turns = TranscriptTurns {
        job,
        agent,
        trace,
        options: call.session_options(options),
        messages,
        last_answer: None,
    };
    let result = call.run(&mut turns).await?;
    Ok(result.map_err(|error| errors::from_structured(&job.served.name, &error))?)
}

/// Runs each turn with the whole conversation, because sessions are not reused.
struct TranscriptTurns<'a> {
    job: &'a RequestJob,
    agent: &'a AgentHandle,
    trace: &'a mut RequestTrace,
    options: SessionOptions,
    messages: Vec<transcript::TranscriptMessage>,
    last_answer: Option<String>,
}

impl TranscriptTurns<'_> {
    /// Returns the prompt of the round. After a rejected answer it contains the conversation.
    fn prompt(&mut self, round: &Round<'_>) -> String {
        let Some(answer) = self.last_answer.take() else {
            return round.prompt().to_owned();
        };
        self.messages
            .push(transcript::TranscriptMessage::assistant(answer));
        self.messages
            .push(transcript::TranscriptMessage::user(round.prompt()));
        transcript::render(&self.messages)
    }
}

impl TurnRunner for TranscriptTurns<'_> {
    type Stop = AbortReason;

    async fn run_turn(&mut self, round: &mut Round<'_>) -> Result<(), TurnFailure<AbortReason>> {
        let prompt = self.prompt(round);
        let job = self.job;
        let name = &job.served.name;
        self.trace.start_turn(name);
        let options = self.options.clone();
        let started = AgentTurn::start(self.agent, name, options, prompt, &job.client);
        let mut turn = started.await.map_err(TurnFailure::Stopped)?;
        let mut answer_text = String::new();
        while let Some(event) = turn.next().await {
            self.trace.on_event(&event);
            round.on_event(&event);
            match &event {
                AgentEvent::Text(text) => answer_text.push_str(text),
                AgentEvent::Result { text, .. } if !text.trim().is_empty() => {
                    answer_text.clone_from(text);
                }
                _ => {}
            }
        }
        self.last_answer = Some(answer_text);
        job.client.check().map_err(TurnFailure::Stopped)
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
