//! Plans: steps, instructions for the agent that executes them, and tests to consider.

use std::time::Duration;

use serde_json::Value;
use windlass_core::structured::{SchemaMode, StructuredErrorKind, ValidationPolicy};
use windlass_core::{AgentHandle, DirAccess, ErrorCode, SessionOptions, StructuredAgentTask};

pub use windlass_core::Plan;

use crate::attempt::{Conversation, StructuredCallError, call};
use crate::template::truncate_end;

/// Maximum size of the excerpt of an invalid answer.
const MAX_ANSWER_EXCERPT: usize = 2000;

/// Options of a plan request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanOptions {
    /// How often the planner may retry, and how strictly its answer is validated.
    pub rules: ValidationPolicy,
    /// Time limit of each attempt. `None`: the handle's own limit.
    pub timeout: Option<Duration>,
    /// Options of the planner's session: directory, model, permissions.
    pub session: SessionOptions,
    /// The planner already has [`Plan::instructions`], so the prompt contains only the task.
    pub is_instructed: bool,
    /// A planner that is a model may look at the project with tools before it answers.
    pub with_tools: bool,
}

impl PlanOptions {
    /// Returns options for an agent that can change nothing in its directory.
    pub(crate) fn read_only(mut self) -> Self {
        self.session.access = DirAccess::ReadOnly;
        self
    }

    /// Returns options for a planner, which can change nothing. A model has tools only if that is asked for: a plan is
    /// one answer.
    pub(crate) fn for_plan(mut self) -> Self {
        self.session.without_tools = !self.with_tools;
        self.read_only()
    }
}

/// Error of a plan request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The planner's answer is not a valid plan.
    #[error("the planner's answer is not a valid plan: {problem}\nanswer: {answer}")]
    Invalid {
        /// The validation error.
        problem: String,
        /// The answer, truncated if it is long.
        answer: String,
    },
    /// The planner did not answer: it is missing, refused, timed out, or its server returned an error.
    #[error(transparent)]
    Agent(#[from] windlass_core::Error),
}

impl PlanError {
    /// Returns the stable error code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid { .. } => ErrorCode::BackendError,
            Self::Agent(error) => error.code(),
        }
    }
}

/// Requests a plan for a task from any agent. Changes nothing.
///
/// Code fences are removed, JSON is found in prose, and a string instead of a list becomes a list.
pub async fn get_plan(
    task: &str,
    planner: &AgentHandle,
    options: PlanOptions,
) -> Result<Plan, PlanError> {
    let request = if options.is_instructed {
        StructuredAgentTask {
            name: "plan".to_owned(),
            prompt: task.to_owned(),
            schema: Some(Plan::schema()),
            schema_mode: SchemaMode::None,
        }
    } else {
        call(planner, "plan", Plan::prompt(task), Plan::schema())
    };
    let value = structured_call(planner, request, options.for_plan()).await?;
    Plan::from_value(&value).map_err(|problem| PlanError::Invalid {
        problem,
        answer: truncate_end(&value.to_string(), MAX_ANSWER_EXCERPT),
    })
}

/// Makes a structured call and returns the validated value.
pub(crate) async fn structured_call(
    agent: &AgentHandle,
    task: StructuredAgentTask,
    options: PlanOptions,
) -> Result<Value, PlanError> {
    let agent = agent.scoped();
    let mut conversation = Conversation::new(agent.clone(), options.session);
    let answer = conversation
        .structured(task, options.rules, options.timeout, &mut ())
        .await;
    agent.close().await;
    match answer {
        Ok(Ok(structured)) => Ok(structured.value),
        Ok(Err(StructuredCallError { error, answer })) => Err(match *error.kind {
            StructuredErrorKind::Agent(error) => PlanError::Agent(error),
            kind => PlanError::Invalid {
                problem: kind.to_string(),
                answer: truncate_end(&answer, MAX_ANSWER_EXCERPT),
            },
        }),
        Err(error) => {
            let error = windlass_core::Error::agent(ErrorCode::BackendError, error.to_string());
            Err(error.into())
        }
    }
}
