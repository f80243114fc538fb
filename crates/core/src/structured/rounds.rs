//! The rounds of a structured call, without I/O: the next prompt, and the evaluation of the answer.

use serde_json::Value;

use super::error::{Error, StructuredErrorKind};
use super::extract::extract;
use super::response::{ResponseCollector, TurnResponse};
use super::schema::{Schema, Validation};
use super::{SchemaMode, StructuredAgentTask, prompt};
use crate::{AgentEvent, SessionOptions, Usage};

/// How an answer is validated, and how many rounds are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValidationPolicy {
    /// How strictly the answer is validated against the schema.
    pub validation: Validation,
    /// The maximum number of prompts, including the first one. The agent is prompted at least once.
    pub rounds: u32,
}

impl Default for ValidationPolicy {
    /// Strict validation and three rounds.
    fn default() -> Self {
        Self {
            validation: Validation::default(),
            rounds: 3,
        }
    }
}

/// A structured answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StructuredAnswer {
    /// The value, which matches the schema.
    pub value: Value,
    /// How many times the agent was prompted.
    pub rounds: u32,
    /// The usage of all rounds, if the agent reports it.
    pub usage: Option<Usage>,
    /// The text of the answer that contains the value.
    pub text: String,
}

/// The state of one structured call.
///
/// [`call`](super::call) runs it in a session of a handle. A caller that needs the events of the turns
/// implements [`TurnRunner`](super::TurnRunner) and passes it to [`run`](Self::run).
#[derive(Debug)]
pub struct StructuredCall {
    task: StructuredAgentTask,
    rules: ValidationPolicy,
    schema: Schema,
    prompt: String,
    collector: ResponseCollector,
    rounds: u32,
    usage: Option<Usage>,
}

impl StructuredCall {
    /// Prepares a call. An invalid schema is an [`InvalidInput`](crate::Error::InvalidInput) error.
    pub fn new(task: StructuredAgentTask, rules: ValidationPolicy) -> Result<Self, Error> {
        let schema =
            Schema::new(task.schema.as_ref(), rules.validation).map_err(|error| Error {
                task: task.name.clone(),
                kind: Box::new(error.into()),
                rounds: 0,
                usage: None,
            })?;
        Ok(Self {
            prompt: prompt::initial_prompt(&task, &schema),
            task,
            rules,
            schema,
            collector: ResponseCollector::default(),
            rounds: 0,
            usage: None,
        })
    }

    /// Returns the options for the session. In native mode they contain the schema.
    pub fn session_options(&self, mut options: SessionOptions) -> SessionOptions {
        if self.task.schema_mode == SchemaMode::Native {
            options.output_schema.clone_from(&self.task.schema);
        }
        options
    }

    /// Returns the next prompt for the agent.
    pub(super) fn prompt(&self) -> &str {
        &self.prompt
    }

    /// Processes an event of the turn.
    pub(super) fn on_event(&mut self, event: &AgentEvent) {
        self.collector.on_event(event);
    }

    /// Evaluates the finished turn. Returns `None` if the answer was rejected; the next prompt states the
    /// reason.
    pub(super) fn finish_turn(&mut self) -> Result<Option<StructuredAnswer>, Error> {
        self.rounds += 1;
        let answer = std::mem::take(&mut self.collector).into_response();
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
                tracing::info!(
                    task = self.task.name,
                    round = self.rounds,
                    "structured answer rejected"
                );
                self.prompt =
                    prompt::correction_prompt(self.task.schema_mode, &self.schema, &fault);
                Ok(None)
            }
            Err(fault) => Err(self.error(fault)),
        }
    }

    /// Creates an error with the given cause and the usage so far.
    pub(super) fn error(&self, kind: StructuredErrorKind) -> Error {
        Error {
            task: self.task.name.clone(),
            kind: Box::new(kind),
            rounds: self.rounds,
            usage: self.usage.clone().map(Box::new),
        }
    }

    /// Validates the answer. This happens in every mode, because an agent may fail to enforce the schema.
    fn validate(&self, answer: &TurnResponse) -> Result<Value, StructuredErrorKind> {
        let value = match &answer.value {
            Some(value) => value.clone(),
            None => extract(&answer.text, self.schema.allows_arrays())?,
        };
        let violations = self.schema.violations(&value);
        if violations.is_empty() {
            Ok(value)
        } else {
            Err(StructuredErrorKind::SchemaViolations(violations))
        }
    }
}
