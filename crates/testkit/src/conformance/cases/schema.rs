//! Answers that must fit a schema.

use serde_json::{Value, json};
use windlass_core::SessionOptions;

use super::super::Trial;
use super::super::case::{Case, Checked, Stop, ensure};
use super::super::told::quoted;
use super::{say, scene};

pub(super) fn cases() -> Vec<Case> {
    vec![Case {
        group: "schema",
        name: "native",
        scenes: vec![scene("Answer.", say("{\"answer\":\"yes\"}"))],
        check: |trial| Box::pin(native(trial)),
    }]
}

async fn native(trial: &Trial) -> Checked {
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
        .granted(|can| can.native_schema, "hold an answer to a schema", begun)?
        .map_err(|error| Stop::Failed(format!("no session with a schema began: {error}")))?;
    let told = trial.play(&session, 0).await?;
    let (text, _) = told.result()?;
    let answer: Option<Value> = serde_json::from_str(text).ok();
    let fits = answer.is_some_and(|answer| answer["answer"].is_string());
    ensure(fits, || {
        format!("the answer does not fit the schema: {}", quoted(text))
    })
}
