//! Code generation with a model without tools: it gets the relevant context and returns complete files.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windlass_core::AgentHandle;
use windlass_tasks::{FileChange, TaskContext};

use crate::attempt::{PromptContext, call};
use crate::plan::structured_call;
use crate::{PlanError, PlanOptions, RunnerSettings};

/// Maximum number of characters of the explanation of a small model.
const MAX_EXPLANATION: u32 = 300;

/// The generated code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Generated {
    /// The files to create, modify or delete.
    pub files: Vec<FileChange>,
    /// What was changed and why.
    pub explanation: String,
}

/// Generates code for a task with any agent. Changes no files. Without a timeout in the options, the call
/// gets the five minutes of the worker's contract.
///
/// # Errors
///
/// An answer that is not the requested JSON is [`PlanError::Invalid`], which contains the answer. An agent
/// that failed or timed out is [`PlanError::Agent`].
pub async fn generate_code(
    agent: &AgentHandle,
    context: TaskContext,
    mut options: PlanOptions,
) -> Result<Generated, PlanError> {
    let timeout = RunnerSettings::default().generate_timeout;
    options.timeout.get_or_insert(timeout);
    let prompt_context = PromptContext {
        context,
        answers: Vec::new(),
        baseline: None,
        named_tests: Vec::new(),
        has_earlier_change: false,
        not_landed: None,
        reviews: Vec::new(),
        note: String::new(),
        messages: String::new(),
        outdated: None,
    };
    let prompt = prompt_context.generate_prompt(&[]);
    let task = call(agent, "generate_code", prompt, schema(false));
    let value = structured_call(agent, task, options).await?;
    let answer = crate::template::truncate_end(&value.to_string(), 2000);
    serde_json::from_value(value).map_err(|error| PlanError::Invalid {
        problem: error.to_string(),
        answer,
    })
}

/// Returns the schema for a small model: it writes the files first, and its texts are short, because it may not find
/// their end.
pub(crate) fn brief_schema() -> Value {
    let mut schema = schema(false);
    schema["properties"]["explanation"]["maxLength"] = MAX_EXPLANATION.into();
    schema
}

/// Returns the schema of generated code. The schema of a correction also has an error analysis and a fix
/// description.
pub(crate) fn schema(correction: bool) -> Value {
    let file = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "relative to the project's root" },
            "action": { "type": "string", "enum": ["create", "modify", "delete"] },
            "content": { "type": "string", "description": "the whole new content; empty for delete" },
        },
        "required": ["path", "action", "content"],
        "additionalProperties": false,
    });
    let files = json!({ "type": "array", "items": file });
    if correction {
        return json!({
            "type": "object",
            "properties": {
                "error_analysis": { "type": "string", "description": "what went wrong" },
                "fix_description": { "type": "string", "description": "how the change fixes it" },
                "files": files,
            },
            "required": ["error_analysis", "fix_description", "files"],
            "additionalProperties": false,
        });
    }
    json!({
        "type": "object",
        "properties": {
            "files": files,
            "explanation": { "type": "string", "description": "what was changed and why" },
        },
        "required": ["files", "explanation"],
        "additionalProperties": false,
    })
}
