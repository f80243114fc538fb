//! Answers that must fit a schema.

use serde_json::{Value, json};
use windlass_core::SessionOptions;

use super::super::CaseRunner;
use super::super::case::{Case, CaseStop, CheckResult, ensure};
use super::super::turn_log::quoted;
use super::{say_action, turn};

pub(super) fn cases() -> Vec<Case> {
    vec![Case {
        group: "schema",
        name: "native",
        scenes: vec![turn("Answer.", say_action("{\"answer\":\"yes\"}"))],
        check: |trial| Box::pin(native(trial)),
    }]
}

async fn native(trial: &CaseRunner) -> CheckResult {
    let options = SessionOptions {
        output_schema: Some(json!({
            "type": "object",
            "properties": { "answer": { "type": "string" } },
            "required": ["answer"],
            "additionalProperties": false,
        })),
        ..SessionOptions::default()
    };
    let begun = trial.agent().new_session(options).await;
    let session = trial
        .expect_capability(|can| can.native_schema, "hold an answer to a schema", begun)?
        .map_err(|error| CaseStop::Failed(format!("no session with a schema began: {error}")))?;
    let told = trial.run_turn(&session, 0).await?;
    let (text, _) = told.result()?;
    let answer: Option<Value> = serde_json::from_str(text).ok();
    let fits = answer.is_some_and(|answer| answer["answer"].is_string());
    ensure(fits, || {
        format!("the answer does not fit the schema: {}", quoted(text))
    })
}
