//! A plan before the work: steps, instructions for whoever does it, tests to think of.

use std::time::Duration;

use serde_json::Value;
use windlass_core::structured::{SchemaMode, StructuredErrorKind, ValidationPolicy};
use windlass_core::{AgentHandle, ErrorCode, SessionOptions, StructuredAgentTask};

pub use windlass_core::Plan;

use crate::attempt::{Conversation, StructuredCallError, call};
use crate::template::truncate_end;

/// How much of an answer that is no plan is shown.
const MAX_ANSWER_EXCERPT: usize = 2000;

/// How a plan is asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanOptions {
    /// How often the planner may try, and how closely it is held to the form.
    pub rules: ValidationPolicy,
    /// The time of each try. `None`: the handle's own limit.
    pub timeout: Option<Duration>,
    /// What the planner's session is begun with: its folder, its model, what it may do.
    pub session: SessionOptions,
    /// Whether the planner knows from [`Plan::instructions`] what a plan is. Then it is told the task and nothing else.
    pub is_instructed: bool,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The planner answered, and its answer is no plan.
    #[error("the planner's answer is not a plan: {problem}\nit said: {answer}")]
    Invalid {
        /// What does not fit.
        problem: String,
        /// The answer as it came, its beginning at least.
        answer: String,
    },
    /// The planner did not answer: not there, refused, too slow, or its server said no.
    #[error(transparent)]
    Agent(#[from] windlass_core::Error),
}

impl PlanError {
    /// The stable name of this failure.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid { .. } => ErrorCode::BackendError,
            Self::Agent(error) => error.code(),
        }
    }
}

/// Has any agent make a plan for a task. Nothing is changed by it.
///
/// Code fences are taken off, JSON is found in prose, and a string where a list was asked for becomes a list.
pub async fn get_plan(
    task: &str,
    planner: &AgentHandle,
    options: PlanOptions,
) -> Result<Plan, PlanError> {
    let asking = if options.is_instructed {
        StructuredAgentTask {
            name: "plan".to_owned(),
            prompt: task.to_owned(),
            schema: Some(Plan::schema()),
            schema_mode: SchemaMode::None,
        }
    } else {
        call(planner, "plan", Plan::prompt(task), Plan::schema())
    };
    let value = structured_call(planner, asking, options).await?;
    Plan::from_value(&value).map_err(|problem| PlanError::Invalid {
        problem,
        answer: truncate_end(&value.to_string(), MAX_ANSWER_EXCERPT),
    })
}

/// A structured answer, or why it is none.
pub(crate) async fn structured_call(
    agent: &AgentHandle,
    task: StructuredAgentTask,
    options: PlanOptions,
) -> Result<Value, PlanError> {
    let mut conversation = Conversation::new(agent.clone(), options.session);
    let answer = conversation
        .structured(task, options.rules, options.timeout, &mut ())
        .await;
    match answer {
        Ok(Ok(structured)) => Ok(structured.value),
        Ok(Err(StructuredCallError { error, answer })) => Err(match *error.fault {
            StructuredErrorKind::Agent(error) => PlanError::Agent(error),
            fault => PlanError::Invalid {
                problem: fault.to_string(),
                answer: truncate_end(&answer, MAX_ANSWER_EXCERPT),
            },
        }),
        Err(fault) => {
            let error = windlass_core::Error::agent(ErrorCode::BackendError, fault.to_string());
            Err(error.into())
        }
    }
}
