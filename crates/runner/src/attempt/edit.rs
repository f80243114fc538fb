//! How an agent changes the files: by itself, or by giving them back.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use windlass_core::place::{FileChange, Place};
use windlass_core::structured::Rules;
use windlass_core::{AgentHandle, ErrorCode, SessionOptions};

use super::approve::approver;
use super::turn::{Conversation, Ear, Said, TurnFault, call};
use super::words::{self, Material, Shown};
use super::{Attempt, Fault, Worked};
use crate::generate::schema;

/// The largest file whose text a model is shown.
const FILE: usize = 64 << 10;
/// How much text it is shown in all.
const FILES: usize = 256 << 10;

/// How long a provider is left alone that asks for fewer requests.
const WAITS: [Duration; 2] = [Duration::from_secs(15), Duration::from_secs(60)];

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
    attempt: &'a Attempt<'r>,
    place: &'a dyn Place,
    conversation: Conversation,
    material: Material,
    /// Whether the agent edits by itself.
    agentic: bool,
}

impl<'a, 'r> Editor<'a, 'r> {
    pub(super) fn new(
        attempt: &'a Attempt<'r>,
        place: &'a dyn Place,
        agent: AgentHandle,
        material: Material,
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
            conversation: Conversation::new(agent, options).called(name),
            attempt,
            place,
            material,
        }
    }

    /// The first edit.
    pub(super) async fn begin(&mut self) -> Worked<Edit> {
        let agent = &self.conversation.name;
        self.attempt.trace.led_by(agent);
        self.attempt.say("agent", format!("{agent} begins")).await;
        if self.agentic {
            let prompt = self.material.for_editing();
            self.edited(&prompt, None).await
        } else {
            let prompt = self.material.for_generating(&self.shown().await);
            self.generated(prompt, schema(false)).await
        }
    }

    /// A round of correction.
    pub(super) async fn correct(&mut self, round: u32, problem: &str) -> Worked<Edit> {
        let rounds = self.attempt.runner.settings.rounds;
        let correction = words::correction(round, rounds, problem);
        if self.agentic {
            return self.edited(&correction, Some(problem)).await;
        }
        let first = self.material.for_generating(&self.shown().await);
        let change = self.place.change().await?;
        let prompt = words::regeneration(&first, &change, &correction);
        self.generated(prompt, schema(true)).await
    }

    /// Lets the agent edit by itself. An agent that lost its session is told all of it again, once.
    async fn edited(&mut self, prompt: &str, analysis: Option<&str>) -> Worked<Edit> {
        let knew = self.conversation.is_open();
        let mut said = self.turn(prompt).await?;
        if knew && said.as_ref().is_err_and(|fault| fault.orphaned) {
            let whole = format!("{}\n\n{prompt}", self.material.for_editing());
            said = self.turn(&whole).await?;
        }
        Ok(Edit {
            analysis: analysis.map(str::to_owned),
            description: said?.text,
            ..Edit::default()
        })
    }

    /// One turn. A provider that asks for fewer requests is given time, twice: what the agent did so far is worth waiting.
    async fn turn(&mut self, prompt: &str) -> Worked<Result<Said, TurnFault>> {
        let runner = self.attempt.runner;
        let timeout = runner.settings.turn_timeout;
        let mut ear = Ear::of(self.attempt);
        let mut waits = WAITS.iter();
        loop {
            let said = self.conversation.turn(prompt, timeout, &mut ear).await?;
            let is_limited = |fault: &TurnFault| fault.code == ErrorCode::RateLimited;
            let Some(wait) = waits
                .next()
                .filter(|_| said.as_ref().is_err_and(is_limited))
            else {
                return Ok(said);
            };
            let message = format!("the provider asks for patience: {} s", wait.as_secs());
            self.attempt.say("waiting", message).await;
            runner.clock.sleep(*wait).await;
        }
    }

    /// Has the files given back and puts them in place.
    async fn generated(&mut self, prompt: String, schema: Value) -> Worked<Edit> {
        let task = call(&self.conversation.agent, "generate_code", prompt, schema);
        let timeout = Some(self.attempt.runner.settings.generate_timeout);
        let mut ear = Ear::of(self.attempt);
        let structured = self
            .conversation
            .structured(task, Rules::default(), timeout, &mut ear)
            .await??;
        let changes = structured.value.get("files").cloned();
        let given: Given = serde_json::from_value(structured.value).map_err(|error| {
            let error = format!("the generated code does not fit its own schema: {error}");
            Fault::Failed { error, again: true }
        })?;
        let step = self.attempt.trace.step("apply");
        let applied = self.place.apply(given.files).await;
        step.done(&applied);
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
    async fn shown(&self) -> Vec<Shown> {
        let mut room = FILES;
        let mut shown = Vec::new();
        for file in &self.material.context.related_files {
            let text = self.place.read(&file.path, FILE.min(room)).await;
            if let Ok(Some(text)) = text {
                room -= text.len().min(room);
                shown.push(Shown {
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
struct Given {
    #[serde(default)]
    error_analysis: Option<String>,
    #[serde(default, alias = "fix_description")]
    explanation: String,
    files: Vec<FileChange>,
}
