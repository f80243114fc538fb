//! The prompts of structured calls. Their templates are in `.md` files in this directory.

use super::error::StructuredErrorKind;
use super::schema::Schema;
use super::{SchemaMode, StructuredAgentTask};

/// Returns the first prompt. In prompt mode the schema follows the task.
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

/// Returns the prompt after an answer was rejected.
///
/// It repeats the schema, even for an agent that should have enforced it, because that agent did not.
/// In mode [`SchemaMode::None`] it lists only the problems.
pub(super) fn correction_prompt(
    mode: SchemaMode,
    schema: &Schema,
    error: &StructuredErrorKind,
) -> String {
    let schema_clause = match schema.json().filter(|_| mode != SchemaMode::None) {
        Some(schema) => format!(" that matches the JSON schema {schema}"),
        None => String::new(),
    };
    let problems = error.correction_text();
    let parts = [
        ("problems", problems.as_str()),
        ("schema_clause", schema_clause.as_str()),
    ];
    fill(include_str!("correction.md"), &parts)
}

/// Fills the template. Inserted text is not expanded again: a prompt may contain `{{schema}}`.
fn fill(template: &str, parts: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut segments = template.trim_end().split("{{");
    filled.push_str(segments.next().unwrap_or_default());
    for segment in segments {
        let (name, tail) = segment.split_once("}}").unwrap_or((segment, ""));
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
        let compiled = Schema::new(Some(&schema), Validation::Strict).unwrap();
        let task = StructuredAgentTask {
            name: "person".to_owned(),
            prompt: "Who? Not {{schema}}.".to_owned(),
            schema: Some(schema),
            schema_mode,
        };
        (task, compiled)
    }

    #[test]
    fn prompt_mode_appends_schema_to_task() {
        let (task, schema) = task(SchemaMode::Prompt);
        expect![[r#"
            Who? Not {{schema}}.

            Answer with one JSON value that matches the JSON schema below, and with nothing else: no prose before or after it, no code fence, no comments.

            {"type":"object","required":["age"]}"#]]
        .assert_eq(&initial_prompt(&task, &schema));
    }

    #[test]
    fn native_and_none_modes_send_the_task_only() {
        for mode in [SchemaMode::Native, SchemaMode::None] {
            let (task, schema) = task(mode);
            assert_eq!(initial_prompt(&task, &schema), task.prompt);
        }
    }

    #[test]
    fn correction_lists_violations_with_paths() {
        let error = StructuredErrorKind::SchemaViolations(vec![
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

            Give the whole answer again as one JSON value that matches the JSON schema {"type":"object","required":["age"]}, and nothing else: no prose before or after it, no code fence, no comments."#]]
        .assert_eq(&correction_prompt(SchemaMode::Native, &schema, &error));
        let without_schema = correction_prompt(SchemaMode::None, &schema, &error);
        assert!(
            !without_schema.contains("schema") && without_schema.contains("/age"),
            "{without_schema}"
        );
    }
}
