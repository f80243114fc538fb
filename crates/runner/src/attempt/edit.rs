//! Edits by an agent: with its own tools, or by returning complete files.

mod limited_turn;

use std::sync::Arc;

use serde_json::Value;
use windlass_core::structured::ValidationPolicy;
use windlass_core::{AgentHandle, DirAccess, EditMode, PermissionPolicy, SessionOptions};
use windlass_tasks::{AgentSession, WorkingCopy};

use super::approve::approver;
use super::generated::GeneratedFiles;
use super::prompts::{self, FileExcerpt, PromptContext};
use super::structured_call::call;
use super::turn::{AttemptObserver, Conversation};
use super::turn_deadline::TurnDeadline;
use super::{AttemptContext, AttemptError, AttemptResult, retry_transient};
use crate::generate::{brief_schema, schema};

/// Maximum size of a file in the prompt.
const MAX_FILE_BYTES: usize = 64 << 10;
/// Maximum total size of the files in the prompt.
const MAX_TOTAL_BYTES: usize = 256 << 10;

/// Maximum number of turns for messages in a row. Later messages wait for the next turn.
const MAX_MESSAGE_TURNS: u32 = 20;

/// One edit by an agent.
#[derive(Debug, Default)]
pub(super) struct AgentEdit {
    /// The agent's analysis of the failure, in a correction.
    pub(super) analysis: Option<String>,
    /// The agent's description of the change.
    pub(super) description: String,
    /// The returned files. `None` for an agent that edits with its own tools.
    pub(super) changes: Option<Value>,
    /// Why the files could not be applied.
    pub(super) apply_error: Option<String>,
}

/// An agent that edits a working copy.
pub(super) struct Editor<'a, 'r> {
    attempt: &'a AttemptContext<'r>,
    working_copy: &'a dyn WorkingCopy,
    conversation: Conversation,
    prompt_context: PromptContext,
    /// The agent has tools.
    has_tools: bool,
    /// How the agent changes files, from now on.
    mode: EditMode,
    /// How often the agent finished without a change.
    empty_changes: u32,
    /// The session that the store has.
    recorded: Option<AgentSession>,
}

impl<'a, 'r> Editor<'a, 'r> {
    pub(super) fn new(
        attempt: &'a AttemptContext<'r>,
        working_copy: &'a dyn WorkingCopy,
        agent: AgentHandle,
        prompt_context: PromptContext,
    ) -> Self {
        let (runner, settings) = (attempt.runner, &attempt.runner.settings);
        let name = runner.agents.name_for(&attempt.task, &agent);
        let deadline = TurnDeadline::new(Arc::clone(&runner.clock));
        let options = SessionOptions {
            model: settings.model.clone(),
            permissions: settings.permissions,
            approver: approver(runner, attempt.at, &name, &deadline),
            access: DirAccess::Repository,
            readable: working_copy.readable_dirs(),
            work: attempt.work_label(),
            ..SessionOptions::in_dir(working_copy.root())
        };
        let has_tools = agent.capabilities().tools;
        // Complete files are written without a question for each.
        let mode = match settings.permissions {
            PermissionPolicy::Allow => agent.edit_mode(settings.model.as_deref()),
            _ => EditMode::Tools,
        };
        Self {
            has_tools,
            mode,
            empty_changes: 0,
            conversation: Conversation::new(agent, options)
                .with_name(name)
                .with_deadline(Some(deadline)),
            attempt,
            working_copy,
            prompt_context,
            recorded: None,
        }
    }

    /// Returns `true` if the agent edits with its own tools.
    fn uses_tools(&self) -> bool {
        self.has_tools && self.mode != EditMode::WholeFiles
    }

    /// Runs the first edit, and the turns for what people say meanwhile.
    pub(super) async fn first_edit(&mut self) -> AttemptResult<AgentEdit> {
        let edit = self.start_edit().await?;
        self.answer_messages(edit).await
    }

    async fn start_edit(&mut self) -> AttemptResult<AgentEdit> {
        let agent = &self.conversation.name;
        self.attempt.trace.set_agent(agent);
        self.attempt
            .report_activity("agent", format!("{agent} started"))
            .await;
        if self.uses_tools() {
            let full = self.prompt_context.edit_prompt();
            let prompt = if self.resume_for_review().await? {
                self.prompt_context.review_prompt()
            } else {
                full.clone()
            };
            self.edit_in_place(&prompt, &full, None).await
        } else {
            let files = self.file_excerpts().await;
            let prompt = self.prompt_context.generate_prompt(&files);
            let schema = self.schema(false);
            self.edit_by_generation(prompt, schema, &files).await
        }
    }

    /// Runs a correction round, and the turns for what people say meanwhile.
    pub(super) async fn correct(&mut self, round: u32, problem: &str) -> AttemptResult<AgentEdit> {
        let edit = self.start_correction(round, problem).await?;
        self.answer_messages(edit).await
    }

    /// Runs a turn for the messages of people since the last one. Returns `None` without messages.
    pub(super) async fn answer_new_messages(&mut self) -> AttemptResult<Option<AgentEdit>> {
        let Some(said) = self.attempt.new_messages().await? else {
            return Ok(None);
        };
        let edit = self.answer(&said).await?;
        self.answer_messages(edit).await.map(Some)
    }

    /// Runs a turn for the messages of people during the last one, until none is left.
    async fn answer_messages(&mut self, mut edit: AgentEdit) -> AttemptResult<AgentEdit> {
        for _ in 0..MAX_MESSAGE_TURNS {
            let Some(said) = self.attempt.new_messages().await? else {
                break;
            };
            let analysis = edit.analysis.take();
            edit = self.answer(&said).await?;
            edit.analysis = analysis;
        }
        Ok(edit)
    }

    /// Returns the schema of the files that the agent returns. A model that has tools and does not use them is small.
    fn schema(&self, is_correction: bool) -> Value {
        if self.has_tools {
            brief_schema()
        } else {
            schema(is_correction)
        }
    }

    /// Notes that the agent finished without a change. A model must then call a tool in the next turn, and if that does
    /// not help either, it is asked for complete files.
    pub(super) async fn note_empty_change(&mut self) {
        if !self.uses_tools() || self.mode != EditMode::Auto {
            return;
        }
        self.empty_changes += 1;
        let agent = &self.conversation.name;
        let next = if self.empty_changes == 1 {
            self.conversation.requires_call = true;
            "must call a tool now"
        } else {
            self.mode = EditMode::WholeFiles;
            "is asked for complete files now"
        };
        let message = format!("{agent} changed nothing, and {next}");
        self.attempt.report_activity("agent", message).await;
    }

    async fn answer(&mut self, said: &str) -> AttemptResult<AgentEdit> {
        if self.uses_tools() {
            let full = self.full_prompt(said);
            self.edit_in_place(said, &full, None).await
        } else {
            self.regenerate(said).await
        }
    }

    async fn start_correction(&mut self, round: u32, problem: &str) -> AttemptResult<AgentEdit> {
        let rounds = self.attempt.runner.settings.rounds;
        let correction = prompts::correction(round, rounds, problem);
        if self.uses_tools() {
            let full = self.full_prompt(&correction);
            let analysis = Some(problem);
            return self.edit_in_place(&correction, &full, analysis).await;
        }
        self.regenerate(&correction).await
    }

    /// Requests complete files again, with the failures. A small model gets no diff: it would copy it into the file.
    async fn regenerate(&mut self, correction: &str) -> AttemptResult<AgentEdit> {
        let files = self.file_excerpts().await;
        let first = self.prompt_context.generate_prompt(&files);
        let prompt = if self.has_tools {
            prompts::brief_regeneration(&first, correction)
        } else {
            prompts::regeneration(&first, &self.working_copy.change().await?, correction)
        };
        self.edit_by_generation(prompt, self.schema(true), &files)
            .await
    }

    /// Returns the task, and a later prompt below it.
    fn full_prompt(&self, prompt: &str) -> String {
        format!("{}\n\n{prompt}", self.prompt_context.edit_prompt())
    }

    /// Lets the agent edit with its own tools. If the agent lost its session, the full prompt is sent instead.
    async fn edit_in_place(
        &mut self,
        prompt: &str,
        full_prompt: &str,
        analysis: Option<&str>,
    ) -> AttemptResult<AgentEdit> {
        let had_session = self.conversation.is_open();
        let mut result = self.turn(prompt, full_prompt).await?;
        if had_session && result.as_ref().is_err_and(|error| error.orphaned) {
            result = self.turn(full_prompt, full_prompt).await?;
        }
        self.record_session().await;
        Ok(AgentEdit {
            analysis: analysis.map(str::to_owned),
            description: result?.text,
            ..AgentEdit::default()
        })
    }

    /// Continues the session in which the agent made the reviewed change, if that is possible. It must have the
    /// same files before it.
    async fn resume_for_review(&mut self) -> AttemptResult<bool> {
        let runner = self.attempt.runner;
        let context = &self.prompt_context;
        let can_resume = self.conversation.agent.capabilities().load_session;
        if !can_resume || context.reviews.is_empty() || !context.has_earlier_change {
            return Ok(false);
        }
        let attempts = retry_transient(&*runner.clock, || {
            runner.store.attempts(self.attempt.at.task)
        })
        .await?;
        let session = attempts.into_iter().rev().find_map(|one| one.session);
        let name = &self.conversation.name;
        let Some(session) = session.filter(|session| session.agent == *name) else {
            return Ok(false);
        };
        let is_resumed = self.conversation.resume(&session.id).await;
        if is_resumed {
            let message = format!("{} continues its session", session.agent);
            self.attempt.report_activity("agent", message).await;
        }
        Ok(is_resumed)
    }

    /// Records the session, so that a later attempt can continue it. An attempt is complete without it.
    async fn record_session(&mut self) {
        let can_resume = self.conversation.agent.capabilities().load_session;
        let Some(id) = self.conversation.session().filter(|_| can_resume) else {
            return;
        };
        let session = AgentSession {
            agent: self.conversation.name.clone(),
            id: id.to_string(),
        };
        if self.recorded.as_ref() == Some(&session) {
            return;
        }
        let store = &self.attempt.runner.store;
        match store.record_session(self.attempt.at, session.clone()).await {
            Ok(()) => self.recorded = Some(session),
            Err(error) => {
                tracing::warn!(%error, "the session was not recorded");
            }
        }
    }

    /// Requests complete files from the model and applies them.
    async fn edit_by_generation(
        &mut self,
        prompt: String,
        schema: Value,
        shown: &[FileExcerpt],
    ) -> AttemptResult<AgentEdit> {
        let task = call(&self.conversation.agent, "generate_code", prompt, schema);
        let timeout = Some(self.attempt.runner.settings.generate_timeout);
        let mut observer = AttemptObserver::new(self.attempt);
        let structured = self
            .conversation
            .without_tools()
            .structured(task, ValidationPolicy::default(), timeout, &mut observer)
            .await?;
        let structured = match structured {
            Ok(structured) => structured,
            // A model that could also use its tools gets another round.
            Err(failed) if self.has_tools && failed.is_unusable() => {
                return Ok(AgentEdit {
                    apply_error: Some(failed.error.to_string()),
                    ..AgentEdit::default()
                });
            }
            Err(failed) => return Err(failed.into()),
        };
        let changes = structured.value.get("files").cloned();
        let mut generated: GeneratedFiles =
            serde_json::from_value(structured.value).map_err(|error| {
                let error = format!("the generated code does not match the schema: {error}");
                AttemptError::Failed { error, again: true }
            })?;
        if self.has_tools {
            generated.choose_actions(self.working_copy).await?;
            let apply_error = generated.problem(shown);
            if apply_error.is_some() {
                return Ok(AgentEdit {
                    apply_error,
                    description: generated.explanation,
                    ..AgentEdit::default()
                });
            }
        }
        let span = self.attempt.trace.span("apply");
        let applied = self.working_copy.apply(generated.files).await;
        span.finish_with(&applied);
        let apply_error = match applied {
            Ok(_) => None,
            Err(error) if error.retry().is_worthwhile() => return Err(error.into()),
            Err(error) => Some(error.to_string()),
        };
        Ok(AgentEdit {
            analysis: generated.error_analysis,
            description: generated.explanation,
            changes,
            apply_error,
        })
    }

    /// Returns the text of the relevant files, up to the size limits and a third of the model's context window.
    async fn file_excerpts(&self) -> Vec<FileExcerpt> {
        let model = self.attempt.runner.settings.model.as_deref();
        let window = self.conversation.agent.context_window(model).await;
        // A token has about three bytes.
        let window = window.and_then(|tokens| usize::try_from(tokens).ok());
        let mut bytes_left = MAX_TOTAL_BYTES.min(window.unwrap_or(usize::MAX));
        let mut excerpts = Vec::new();
        for file in &self.prompt_context.context.related_files {
            let max_bytes = MAX_FILE_BYTES.min(bytes_left);
            let text = self.working_copy.read(&file.path, max_bytes).await;
            if let Ok(Some(text)) = text {
                bytes_left -= text.len().min(bytes_left);
                excerpts.push(FileExcerpt {
                    path: file.path.clone(),
                    text,
                });
            }
        }
        excerpts
    }
}
