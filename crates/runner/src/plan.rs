//! A plan before the work: steps, instructions for whoever does it, tests to think of.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windlass_core::structured::{Fault as Misfit, Rules};
use windlass_core::{AgentHandle, ErrorCode, SessionOptions};

use crate::attempt::{Conversation, Unstructured, call};
use crate::prompt::{cut, fill};

/// How much of an answer that is no plan is shown.
const ANSWER: usize = 2000;

/// What is to be done, thought through beforehand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The steps in their order.
    pub plan: Vec<String>,
    /// All that whoever does the work must be told.
    pub coder_prompt: String,
    /// Tests that would show that it is done.
    pub tests: Vec<String>,
}

/// How a plan is asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanOptions {
    /// How often the planner may try, and how closely it is held to the form.
    pub rules: Rules,
    /// The time of each try. `None`: the handle's own limit.
    pub timeout: Option<Duration>,
    /// What the planner's session is begun with: its folder, its model, what it may do.
    pub session: SessionOptions,
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
    let prompt = fill(include_str!("prompts/planner.md"), &[("task", task)]);
    let value = asked(planner, "plan", prompt, schema(), options).await?;
    let raw: Raw = serde_json::from_value(value.clone()).map_err(|error| PlanError::Invalid {
        problem: error.to_string(),
        answer: cut(&value.to_string(), ANSWER),
    })?;
    let plan = Plan {
        plan: raw.plan.into_steps(),
        coder_prompt: raw.coder_prompt,
        tests: raw.tests.into_steps(),
    };
    if plan.plan.is_empty() || plan.coder_prompt.trim().is_empty() {
        return Err(PlanError::Invalid {
            problem: "it has no steps, or nothing for whoever does the work".to_owned(),
            answer: cut(&value.to_string(), ANSWER),
        });
    }
    Ok(plan)
}

/// A structured answer, or why it is none.
pub(crate) async fn asked(
    agent: &AgentHandle,
    name: &str,
    prompt: String,
    schema: Value,
    options: PlanOptions,
) -> Result<Value, PlanError> {
    let task = call(agent, name, prompt, schema);
    let mut conversation = Conversation::new(agent.clone(), options.session);
    let answer = conversation
        .structured(task, options.rules, options.timeout, &mut ())
        .await;
    match answer {
        Ok(Ok(structured)) => Ok(structured.value),
        Ok(Err(Unstructured { error, answer })) => Err(match *error.fault {
            Misfit::Agent(error) => PlanError::Agent(error),
            fault => PlanError::Invalid {
                problem: fault.to_string(),
                answer: cut(&answer, ANSWER),
            },
        }),
        Err(fault) => {
            let error = windlass_core::Error::agent(ErrorCode::BackendError, fault.to_string());
            Err(error.into())
        }
    }
}

#[derive(Deserialize)]
struct Raw {
    plan: Steps,
    coder_prompt: String,
    #[serde(default)]
    tests: Steps,
}

/// A list, or a text that stands for one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Steps {
    List(Vec<String>),
    Text(String),
}

impl Default for Steps {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Steps {
    /// One step per line; numbers and bullets before them are taken off.
    fn into_steps(self) -> Vec<String> {
        let lines: Vec<String> = match self {
            Self::List(list) => list,
            Self::Text(text) => text.lines().map(|line| bare(line).to_owned()).collect(),
        };
        lines
            .into_iter()
            .filter(|line| !line.trim().is_empty())
            .collect()
    }
}

fn bare(line: &str) -> &str {
    let line = line.trim();
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if number.len() < line.len() && number.starts_with(['.', ')']) {
        return number[1..].trim_start();
    }
    line.strip_prefix(['-', '*', '•'])
        .filter(|rest| rest.starts_with(' '))
        .map_or(line, str::trim_start)
}

fn schema() -> Value {
    let list = |of: &str| {
        json!({
            "description": of,
            "anyOf": [
                { "type": "array", "items": { "type": "string" } },
                { "type": "string" },
            ],
        })
    };
    json!({
        "type": "object",
        "properties": {
            "plan": list("the steps in their order"),
            "coder_prompt": {
                "type": "string",
                "description": "all that the engineer who does the work must be told",
            },
            "tests": list("tests that would show that the task is done"),
        },
        "required": ["plan", "coder_prompt", "tests"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_a_list() {
        let steps = |text: &str| Steps::Text(text.to_owned()).into_steps();
        assert_eq!(
            steps("1. read\n2) write\n\n- run"),
            ["read", "write", "run"]
        );
        assert_eq!(steps("just do it"), ["just do it"]);
        assert_eq!(
            steps("-1 is a number\n3 apples"),
            ["-1 is a number", "3 apples"]
        );
    }
}
