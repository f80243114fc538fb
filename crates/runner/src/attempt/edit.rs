//! How an agent changes the files: by itself, or by giving them back.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use windlass_core::structured::ValidationPolicy;
use windlass_core::workspace::{FileChange, WorkingCopy};
use windlass_core::{AgentHandle, ErrorCode, SessionOptions};

use super::approve::approver;
use super::prompts::{self, FileExcerpt, PromptContext};
use super::turn::{AttemptObserver, Conversation, TurnError, TurnOutput, call};
use super::{AttemptContext, AttemptError, AttemptResult};
use crate::generate::schema;

/// The largest file whose text a model is shown.
const MAX_FILE_BYTES: usize = 64 << 10;
/// How much text it is shown in all.
const MAX_TOTAL_BYTES: usize = 256 << 10;

/// How long a provider is left alone that asks for fewer requests.
const RATE_LIMIT_WAITS: [Duration; 2] = [Duration::from_secs(15), Duration::from_secs(60)];

/// What an agent did in one go.
#[derive(Debug, Default)]
pub(super) struct Edit {
    /// What it thinks went wrong, where it was asked.
    pub(super) analysis: Option<String>,
    /// What it did and why, in its words.
    pub(super) description: String,
    /// The files it gave back; nothing where it edits by itself.
    pub(super) changes: Option<Value>,
    /// Why its files could not be put in place.
    pub(super) refused: Option<String>,
}

/// An agent at work in a place.
pub(super) struct Editor<'a, 'r> {
    attempt: &'a AttemptContext<'r>,
    place: &'a dyn WorkingCopy,
    conversation: Conversation,
    material: PromptContext,
    /// Whether the agent edits by itself.
    agentic: bool,
}

impl<'a, 'r> Editor<'a, 'r> {
    pub(super) fn new(
        attempt: &'a AttemptContext<'r>,
        place: &'a dyn WorkingCopy,
        agent: AgentHandle,
        material: PromptContext,
    ) -> Self {
        let runner = attempt.runner;
        let settings = &runner.settings;
        let name = runner.agents.name_for(&attempt.task, &agent);
        let options = SessionOptions {
            model: settings.model.clone(),
            permissions: settings.permissions,
            approver: approver(runner, attempt.at, &name),
            ..SessionOptions::in_dir(place.root())
        };
        Self {
            agentic: agent.capabilities().tools,
            conversation: Conversation::new(agent, options).with_name(name),
            attempt,
            place,
            material,
        }
    }

    /// The first edit.
    pub(super) async fn first_edit(&mut self) -> AttemptResult<Edit> {
        let agent = &self.conversation.name;
        self.attempt.trace.set_agent(agent);
        self.attempt
            .report_activity("agent", format!("{agent} begins"))
            .await;
        if self.agentic {
            let prompt = self.material.edit_prompt();
            self.edit_in_place(&prompt, None).await
        } else {
            let prompt = self.material.generate_prompt(&self.file_excerpts().await);
            self.edit_by_generation(prompt, schema(false)).await
        }
    }

    /// A round of correction.
    pub(super) async fn correct(&mut self, round: u32, problem: &str) -> AttemptResult<Edit> {
        let rounds = self.attempt.runner.settings.rounds;
        let correction = prompts::correction(round, rounds, problem);
        if self.agentic {
            return self.edit_in_place(&correction, Some(problem)).await;
        }
        let first = self.material.generate_prompt(&self.file_excerpts().await);
        let change = self.place.change().await?;
        let prompt = prompts::regeneration(&first, &change, &correction);
        self.edit_by_generation(prompt, schema(true)).await
    }

    /// Lets the agent edit by itself. An agent that lost its session is told all of it again, once.
    async fn edit_in_place(&mut self, prompt: &str, analysis: Option<&str>) -> AttemptResult<Edit> {
        let knew = self.conversation.is_open();
        let mut said = self.turn(prompt).await?;
        if knew && said.as_ref().is_err_and(|fault| fault.orphaned) {
            let whole = format!("{}\n\n{prompt}", self.material.edit_prompt());
            said = self.turn(&whole).await?;
        }
        Ok(Edit {
            analysis: analysis.map(str::to_owned),
            description: said?.text,
            ..Edit::default()
        })
    }

    /// One turn. A provider that asks for fewer requests is given time, twice: what the agent did so far is worth waiting.
    async fn turn(&mut self, prompt: &str) -> AttemptResult<Result<TurnOutput, TurnError>> {
        let runner = self.attempt.runner;
        let timeout = runner.settings.turn_timeout;
        let mut ear = AttemptObserver::new(self.attempt);
        let mut waits = RATE_LIMIT_WAITS.iter();
        loop {
            let said = self.conversation.turn(prompt, timeout, &mut ear).await?;
            let is_limited = |fault: &TurnError| fault.code == ErrorCode::RateLimited;
            let Some(wait) = waits
                .next()
                .filter(|_| said.as_ref().is_err_and(is_limited))
            else {
                return Ok(said);
            };
            let message = format!("the provider asks for patience: {} s", wait.as_secs());
            self.attempt.report_activity("waiting", message).await;
            runner.clock.sleep(*wait).await;
        }
    }

    /// Has the files given back and puts them in place.
    async fn edit_by_generation(&mut self, prompt: String, schema: Value) -> AttemptResult<Edit> {
        let task = call(&self.conversation.agent, "generate_code", prompt, schema);
        let timeout = Some(self.attempt.runner.settings.generate_timeout);
        let mut ear = AttemptObserver::new(self.attempt);
        let structured = self
            .conversation
            .structured(task, ValidationPolicy::default(), timeout, &mut ear)
            .await??;
        let changes = structured.value.get("files").cloned();
        let given: GeneratedFiles = serde_json::from_value(structured.value).map_err(|error| {
            let error = format!("the generated code does not fit its own schema: {error}");
            AttemptError::Failed { error, again: true }
        })?;
        let step = self.attempt.trace.span("apply");
        let applied = self.place.apply(given.files).await;
        step.finish_with(&applied);
        let refused = match applied {
            Ok(_) => None,
            Err(error) if error.retry().is_worthwhile() => return Err(error.into()),
            Err(error) => Some(error.to_string()),
        };
        Ok(Edit {
            analysis: given.error_analysis,
            description: given.explanation,
            changes,
            refused,
        })
    }

    /// The text of the files that probably matter, as far as it fits.
    async fn file_excerpts(&self) -> Vec<FileExcerpt> {
        let mut room = MAX_TOTAL_BYTES;
        let mut shown = Vec::new();
        for file in &self.material.context.related_files {
            let text = self.place.read(&file.path, MAX_FILE_BYTES.min(room)).await;
            if let Ok(Some(text)) = text {
                room -= text.len().min(room);
                shown.push(FileExcerpt {
                    path: file.path.clone(),
                    text,
                });
            }
        }
        shown
    }
}

/// What a model gives back.
#[derive(Deserialize)]
struct GeneratedFiles {
    #[serde(default)]
    error_analysis: Option<String>,
    #[serde(default, alias = "fix_description")]
    explanation: String,
    files: Vec<FileChange>,
}
