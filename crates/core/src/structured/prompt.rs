//! The words by which an agent is asked for JSON, kept in files beside this one.

use super::error::StructuredErrorKind;
use super::schema::Schema;
use super::{SchemaMode, StructuredAgentTask};

/// What the agent is told first: in prompt mode the schema follows the task.
pub(super) fn initial_prompt(task: &StructuredAgentTask, schema: &Schema) -> String {
    match schema
        .json()
        .filter(|_| task.schema_mode == SchemaMode::Prompt)
    {
        Some(schema) => {
            let parts = [("prompt", task.prompt.as_str()), ("schema", schema)];
            fill(include_str!("prompt.md"), &parts)
        }
        None => task.prompt.clone(),
    }
}

/// What the agent is told when its answer will not do.
///
/// The schema is said once more, also to an agent that was to enforce it: this one did not. Only an agent that is
/// not to be told the schema hears of the faults alone.
pub(super) fn correction_prompt(
    mode: SchemaMode,
    schema: &Schema,
    fault: &StructuredErrorKind,
) -> String {
    let fitting = match schema.json().filter(|_| mode != SchemaMode::None) {
        Some(schema) => format!(" that fits the JSON schema {schema}"),
        None => String::new(),
    };
    let problems = fault.correction_text();
    let parts = [
        ("problems", problems.as_str()),
        ("fitting", fitting.as_str()),
    ];
    fill(include_str!("correction.md"), &parts)
}

/// The template with its parts. What is put in is not looked at again: a prompt may say `{{schema}}`.
fn fill(template: &str, parts: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut pieces = template.trim_end().split("{{");
    filled.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (name, tail) = piece.split_once("}}").unwrap_or((piece, ""));
        let part = parts.iter().find(|(known, _)| *known == name);
        filled.push_str(part.map_or("", |(_, part)| part));
        filled.push_str(tail);
    }
    filled
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::super::error::SchemaViolation;
    use super::super::schema::Validation;
    use super::*;

    fn task(schema_mode: SchemaMode) -> (StructuredAgentTask, Schema) {
        let schema = json!({ "type": "object", "required": ["age"] });
        let made = Schema::new(Some(&schema), Validation::Strict).unwrap();
        let task = StructuredAgentTask {
            name: "person".to_owned(),
            prompt: "Who? Not {{schema}}.".to_owned(),
            schema: Some(schema),
            schema_mode,
        };
        (task, made)
    }

    #[test]
    fn the_schema_follows_the_task() {
        let (task, schema) = task(SchemaMode::Prompt);
        expect![[r#"
            Who? Not {{schema}}.

            Answer with one JSON value that fits the JSON schema below, and with nothing else: no prose before or after it, no code fence, no comments.

            {"type":"object","required":["age"]}"#]]
        .assert_eq(&initial_prompt(&task, &schema));
    }

    #[test]
    fn an_agent_that_enforces_or_must_not_know_gets_the_task_alone() {
        for mode in [SchemaMode::Native, SchemaMode::None] {
            let (task, schema) = task(mode);
            assert_eq!(initial_prompt(&task, &schema), task.prompt);
        }
    }

    #[test]
    fn a_correction_names_the_places() {
        let fault = StructuredErrorKind::SchemaViolations(vec![
            SchemaViolation {
                path: "/age".to_owned(),
                problem: "value is not an age".to_owned(),
            },
            SchemaViolation {
                path: String::new(),
                problem: "value is too small".to_owned(),
            },
        ]);
        let (_, schema) = task(SchemaMode::Native);
        expect![[r#"
            Your last answer was not accepted:

            - at /age: value is not an age
            - at the top: value is too small

            Give the whole answer again as one JSON value that fits the JSON schema {"type":"object","required":["age"]}, and nothing else: no prose before or after it, no code fence, no comments."#]]
        .assert_eq(&correction_prompt(SchemaMode::Native, &schema, &fault));
        let untold = correction_prompt(SchemaMode::None, &schema, &fault);
        assert!(
            !untold.contains("schema") && untold.contains("/age"),
            "{untold}"
        );
    }
}
