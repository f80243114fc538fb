//! What a tool is: its input, what it needs, its effect, and what it does.

use std::future::Future;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use windlass_tasks::Scope;

use super::input_schema::input_schema;
use crate::board::Board;
use crate::call_slots::SlotKind;
use crate::error::ApiError;

/// The maximum length of a string in a stored record, in bytes. Longer ones are truncated and marked.
const MAX_RECORD_STRING: usize = 8 << 10;

/// An operation that clients can call. The type is its input; the comments of the fields are part of the schema.
pub(super) trait McpOperation: DeserializeOwned + JsonSchema + Send + 'static {
    /// The name of the tool.
    const NAME: &'static str;
    /// The title for a person.
    const TITLE: &'static str;
    /// The description for a model.
    const DESCRIPTION: &'static str;
    /// The scopes that a caller needs, all of them.
    const NEEDS: &'static [Scope];
    /// The effect of a call.
    const EFFECT: Effect;
    /// What a call needs a slot for.
    const SLOT: SlotKind = SlotKind::Call;

    /// Performs the operation.
    fn run(self, board: &Board) -> impl Future<Output = Result<ToolReply, ApiError>> + Send;
}

/// The effect of a call, as clients see it before they ask their user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It changes nothing.
    Reads,
    /// It adds something with each call, and replaces nothing.
    Adds,
    /// It replaces or ends something; a second call changes nothing more.
    Replaces,
    /// It runs an agent, which may use the network.
    RunsAgent,
}

impl Effect {
    fn annotations(self, title: &str) -> ToolAnnotations {
        ToolAnnotations::with_title(title)
            .read_only(self == Self::Reads)
            .destructive(self == Self::Replaces)
            .idempotent(matches!(self, Self::Reads | Self::Replaces))
            .open_world(self == Self::RunsAgent)
    }
}

/// The result of a call: a text, and the same as data.
#[derive(Debug)]
pub(super) struct ToolReply {
    pub(super) text: String,
    pub(super) data: Value,
}

impl ToolReply {
    pub(super) fn new(text: impl Into<String>, data: Value) -> Self {
        let text = text.into();
        Self { text, data }
    }
}

/// Returns a stored record as JSON, with long strings cut.
pub(super) fn record(value: &impl Serialize) -> Result<Value, ApiError> {
    let mut value =
        serde_json::to_value(value).map_err(|error| ApiError::internal(error.to_string()))?;
    cut_strings(&mut value);
    Ok(value)
}

fn cut_strings(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_RECORD_STRING => {
            let end = text.floor_char_boundary(MAX_RECORD_STRING);
            let cut = text.len() - end;
            text.truncate(end);
            text.push_str(&format!(" [… {cut} bytes cut]"));
        }
        Value::Array(items) => items.iter_mut().for_each(cut_strings),
        Value::Object(fields) => fields.values_mut().for_each(cut_strings),
        _ => {}
    }
}

type RunTool = for<'a> fn(&'a Board, JsonObject) -> BoxFuture<'a, Result<ToolReply, ApiError>>;

/// An operation as an entry of the list of tools.
pub(super) struct ToolEntry {
    /// The description for clients.
    pub(super) tool: Tool,
    pub(super) needs: &'static [Scope],
    pub(super) slot: SlotKind,
    effect: Effect,
    run: RunTool,
}

impl ToolEntry {
    pub(super) fn new<O: McpOperation>() -> Self {
        let schema = Arc::new(input_schema::<O>());
        Self {
            tool: Tool::new(O::NAME, O::DESCRIPTION, schema)
                .with_title(O::TITLE)
                .with_annotations(O::EFFECT.annotations(O::TITLE)),
            needs: O::NEEDS,
            slot: O::SLOT,
            effect: O::EFFECT,
            run: |board, arguments| run::<O>(board, arguments).boxed(),
        }
    }

    /// Returns `true` if a caller with these scopes may call it.
    pub(super) fn is_allowed(&self, scopes: &[Scope]) -> bool {
        self.needs.iter().all(|scope| scopes.contains(scope))
    }

    /// Returns `true` if a call does more than read.
    pub(super) fn changes(&self) -> bool {
        self.effect != Effect::Reads
    }

    /// Parses the input and performs the operation.
    pub(super) async fn run(
        &self,
        board: &Board,
        arguments: JsonObject,
    ) -> Result<ToolReply, ApiError> {
        (self.run)(board, arguments).await
    }
}

async fn run<O: McpOperation>(board: &Board, arguments: JsonObject) -> Result<ToolReply, ApiError> {
    let parsed = serde_json::from_value::<O>(Value::Object(arguments));
    let operation = parsed.map_err(|error| {
        ApiError::bad_request(format!("invalid arguments for {}: {error}", O::NAME))
    })?;
    operation.run(board).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn p12_long_strings_of_records_are_cut() {
        let long = "é".repeat(MAX_RECORD_STRING);
        let cut = record(&json!({ "task": { "title": long, "tags": [long] } })).unwrap();
        for text in [&cut["task"]["title"], &cut["task"]["tags"][0]] {
            let text = text.as_str().unwrap();
            assert!(text.len() < MAX_RECORD_STRING + 40, "{}", text.len());
            assert!(text.ends_with(" [… 8192 bytes cut]"), "{text}");
        }
    }
}
