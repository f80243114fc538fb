//! Code from a model that only talks: it is told what matters and gives whole files back.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windlass_core::AgentHandle;
use windlass_core::workspace::{FileChange, TaskContext};

use crate::attempt::{PromptContext, call};
use crate::plan::structured_call;
use crate::{PlanError, PlanOptions, RunnerSettings};

/// What a model gives back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Generated {
    /// The files to create, modify or delete.
    pub files: Vec<FileChange>,
    /// What was changed and why.
    pub explanation: String,
}

/// Has any agent write code for a task, and changes nothing by itself. Without a time in the options it has the five
/// minutes of the worker's contract.
///
/// # Errors
///
/// An answer that is not the JSON that was asked for is [`PlanError::Invalid`] and shown; an agent that failed or took too
/// long is [`PlanError::Agent`].
pub async fn generate_code(
    agent: &AgentHandle,
    context: TaskContext,
    mut options: PlanOptions,
) -> Result<Generated, PlanError> {
    let timeout = RunnerSettings::default().generate_timeout;
    options.timeout.get_or_insert(timeout);
    let material = PromptContext {
        context,
        answers: Vec::new(),
        command: None,
    };
    let prompt = material.generate_prompt(&[]);
    let task = call(agent, "generate_code", prompt, schema(false));
    let value = structured_call(agent, task, options).await?;
    let answer = crate::template::truncate_end(&value.to_string(), 2000);
    serde_json::from_value(value).map_err(|error| PlanError::Invalid {
        problem: error.to_string(),
        answer,
    })
}

/// The schema of generated code; of a correction, with what went wrong and how it is mended.
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
                "fix_description": { "type": "string", "description": "what the change does about it" },
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
