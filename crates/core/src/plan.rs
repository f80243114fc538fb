//! A plan before the work: steps, instructions for whoever does it, tests to think of.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a planner is told before the task.
const INSTRUCTIONS: &str = include_str!("planner.md");

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

impl Plan {
    /// What a planner is to know before it is told a task: a model's system prompt.
    pub fn instructions() -> &'static str {
        INSTRUCTIONS.trim_end()
    }

    /// The same and the task in one text, for whoever hears only prompts.
    pub fn prompt(task: &str) -> String {
        format!("{}\n\n# Task\n\n{task}", Self::instructions())
    }

    /// The shape of the answer.
    pub fn schema() -> Value {
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

    /// The plan that an answer of that shape means, or why it is none.
    ///
    /// A text where a list was asked for becomes a list.
    pub fn from_value(answer: &Value) -> Result<Self, String> {
        let raw = RawPlan::deserialize(answer).map_err(|error| error.to_string())?;
        let plan = Self {
            plan: raw.plan.into_steps(),
            coder_prompt: raw.coder_prompt,
            tests: raw.tests.into_steps(),
        };
        if plan.plan.is_empty() || plan.coder_prompt.trim().is_empty() {
            return Err("it has no steps, or nothing for whoever does the work".to_owned());
        }
        Ok(plan)
    }
}

#[derive(Deserialize)]
struct RawPlan {
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
            Self::Text(text) => text
                .lines()
                .map(|line| strip_bullet(line).to_owned())
                .collect(),
        };
        lines
            .into_iter()
            .filter(|line| !line.trim().is_empty())
            .collect()
    }
}

fn strip_bullet(line: &str) -> &str {
    let line = line.trim();
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if number.len() < line.len() && number.starts_with(['.', ')']) {
        return number[1..].trim_start();
    }
    line.strip_prefix(['-', '*', '•'])
        .filter(|rest| rest.starts_with(' '))
        .map_or(line, str::trim_start)
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
