//! A plan that is made before the work: steps, instructions for the coder, tests.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The instructions for a planner.
const INSTRUCTIONS: &str = include_str!("planner.md");

/// The plan of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The steps in order.
    pub plan: Vec<String>,
    /// Everything that the coder needs to know.
    pub coder_prompt: String,
    /// Tests that would show that the task is done.
    pub tests: Vec<String>,
}

impl Plan {
    /// Returns the instructions for a planner, for use as a model's system prompt.
    pub fn instructions() -> &'static str {
        INSTRUCTIONS.trim_end()
    }

    /// Returns the instructions and the task as one text, for agents without a separate system prompt.
    pub fn prompt(task: &str) -> String {
        format!("{}\n\n# Task\n\n{task}", Self::instructions())
    }

    /// Returns the JSON schema of the answer.
    pub fn schema() -> Value {
        let list = |description: &str| {
            json!({
                "description": description,
                "anyOf": [
                    { "type": "array", "items": { "type": "string" } },
                    { "type": "string" },
                ],
            })
        };
        json!({
            "type": "object",
            "properties": {
                "plan": list("the steps in order"),
                "coder_prompt": {
                    "type": "string",
                    "description": "everything that the engineer who does the work must know",
                },
                "tests": list("tests that would show that the task is done"),
            },
            "required": ["plan", "coder_prompt", "tests"],
        })
    }

    /// Parses an answer that matches the schema. On failure, returns the reason.
    ///
    /// A text where a list is expected is split into a list.
    pub fn from_value(answer: &Value) -> Result<Self, String> {
        let raw = RawPlan::deserialize(answer).map_err(|error| error.to_string())?;
        let plan = Self {
            plan: raw.plan.into_steps(),
            coder_prompt: raw.coder_prompt,
            tests: raw.tests.into_steps(),
        };
        if plan.plan.is_empty() || plan.coder_prompt.trim().is_empty() {
            return Err("it has no steps, or an empty coder_prompt".to_owned());
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

/// A list, or a text with one item per line.
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
    /// Returns one step per line, without leading numbers and bullets.
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
    fn text_is_split_into_steps() {
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
