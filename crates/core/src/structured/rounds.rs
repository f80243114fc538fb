//! A structured call without the agent: what to say next, and what to make of the answer.

use serde_json::Value;

use super::error::{Error, StructuredErrorKind};
use super::extract::extract;
use super::response::{ResponseCollector, TurnResponse};
use super::schema::{Schema, Validation};
use super::{SchemaMode, StructuredAgentTask, prompt};
use crate::{AgentEvent, SessionOptions, Usage};

/// How an answer is judged, and how often it may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValidationPolicy {
    /// How closely the answer is held to the schema.
    pub validation: Validation,
    /// How many times the agent is asked at most, the first time counted. It is asked at least once.
    pub rounds: u32,
}

impl Default for ValidationPolicy {
    /// Strict, and three rounds.
    fn default() -> Self {
        Self {
            validation: Validation::default(),
            rounds: 3,
        }
    }
}

/// A structured answer.
#[derive(Debug, Clone, PartialEq)]
pub struct StructuredAnswer {
    /// The value, which fits the schema.
    pub value: Value,
    /// How many times the agent was asked.
    pub rounds: u32,
    /// What all rounds together consumed, where the agent says so.
    pub usage: Option<Usage>,
    /// The answer that holds the value, as the agent wrote it.
    pub text: String,
}

/// The rounds of one structured call.
///
/// [`call`](super::call) leads one with a handle. Whoever wants to watch the turns leads it himself: put the
/// [`prompt`](Self::prompt) to the agent, let the dialog [`hear`](Self::hear) every event of the turn, and
/// [`settle`](Self::settle); without an answer yet, begin again.
#[derive(Debug)]
pub struct StructuredCall {
    task: StructuredAgentTask,
    rules: ValidationPolicy,
    schema: Schema,
    prompt: String,
    heard: ResponseCollector,
    rounds: u32,
    usage: Option<Usage>,
}

impl StructuredCall {
    /// Prepares a call. A bad schema is an [`InvalidInput`](crate::Error::InvalidInput).
    pub fn new(task: StructuredAgentTask, rules: ValidationPolicy) -> Result<Self, Error> {
        let schema =
            Schema::new(task.schema.as_ref(), rules.validation).map_err(|error| Error {
                task: task.name.clone(),
                fault: Box::new(error.into()),
                rounds: 0,
                usage: None,
            })?;
        Ok(Self {
            prompt: prompt::initial_prompt(&task, &schema),
            task,
            rules,
            schema,
            heard: ResponseCollector::default(),
            rounds: 0,
            usage: None,
        })
    }

    /// The options that the session must be begun with: in native mode they carry the schema.
    pub fn session_options(&self, mut options: SessionOptions) -> SessionOptions {
        if self.task.schema_mode == SchemaMode::Native {
            options.output_schema.clone_from(&self.task.schema);
        }
        options
    }

    /// What the agent is to be told now.
    pub fn prompt(&self) -> &str {
        &self.prompt
    }

    /// Takes in an event of the turn.
    pub fn on_event(&mut self, event: &AgentEvent) {
        self.heard.on_event(event);
    }

    /// Judges the turn that is over. `None`: the answer will not do, and the next prompt says why.
    pub fn finish_turn(&mut self) -> Result<Option<StructuredAnswer>, Error> {
        self.rounds += 1;
        let answer = std::mem::take(&mut self.heard).into_response();
        let answer = answer.map_err(|error| self.error(error.into()))?;
        if let Some(usage) = &answer.usage {
            *self.usage.get_or_insert_default() += usage;
        }
        match self.validate(&answer) {
            Ok(value) => Ok(Some(StructuredAnswer {
                value,
                rounds: self.rounds,
                usage: self.usage.clone(),
                text: answer.text,
            })),
            Err(fault) if self.rounds < self.rules.rounds => {
                tracing::info!(task = self.task.name, round = self.rounds, "not accepted");
                self.prompt =
                    prompt::correction_prompt(self.task.schema_mode, &self.schema, &fault);
                Ok(None)
            }
            Err(fault) => Err(self.error(fault)),
        }
    }

    /// The failure that this fault is, with what was consumed on the way to it.
    pub fn error(&self, fault: StructuredErrorKind) -> Error {
        Error {
            task: self.task.name.clone(),
            fault: Box::new(fault),
            rounds: self.rounds,
            usage: self.usage.clone().map(Box::new),
        }
    }

    /// In every mode: an agent that enforces the schema may not do so.
    fn validate(&self, answer: &TurnResponse) -> Result<Value, StructuredErrorKind> {
        let value = match &answer.value {
            Some(value) => value.clone(),
            None => extract(&answer.text, self.schema.allows_arrays())?,
        };
        let misfits = self.schema.violations(&value);
        if misfits.is_empty() {
            Ok(value)
        } else {
            Err(StructuredErrorKind::SchemaViolations(misfits))
        }
    }
}
