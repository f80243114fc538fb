//! Answers that must match a schema.

use serde_json::{Value, json};
use windlass_core::SessionOptions;

use super::super::CaseRunner;
use super::super::case::Case;
use super::super::check::{CaseStop, CheckResult, ensure};
use super::super::turn_log::quoted;
use super::{say_action, turn};

pub(super) fn cases() -> Vec<Case> {
    vec![Case {
        group: "schema",
        name: "native",
        turns: vec![turn("Answer.", say_action("{\"answer\":\"yes\"}"))],
        check: |runner| Box::pin(native(runner)),
    }]
}

async fn native(runner: &CaseRunner) -> CheckResult {
    let options = SessionOptions {
        output_schema: Some(json!({
            "type": "object",
            "properties": { "answer": { "type": "string" } },
            "required": ["answer"],
            "additionalProperties": false,
        })),
        ..SessionOptions::default()
    };
    let result = runner.agent().new_session(options).await;
    let session = runner
        .expect_capability(|can| can.native_schema, "enforce a schema", result)?
        .map_err(|error| {
            CaseStop::Failed(format!("no session with a schema was started: {error}"))
        })?;
    let log = runner.run_turn(&session, 0).await?;
    let (text, _) = log.result()?;
    let answer: Option<Value> = serde_json::from_str(text).ok();
    let matches = answer.is_some_and(|answer| answer["answer"].is_string());
    ensure(matches, || {
        format!("the answer does not match the schema: {}", quoted(text))
    })
}
