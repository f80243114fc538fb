//! Running what the model called.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream;
use serde_json::{Value, json};
use windlass_core::limits::OUTPUT_BYTES;
use windlass_core::{AgentEvent, Clock, Tool};
use windlass_wire::{Part, ToolCall, ToolInputKind, ToolResult};

use super::permission::PermissionCheck;
use super::tool_set::{ToolSet, is_read_only};
use super::turn::EventSink;

/// How many tools that only look run at once.
const MAX_PARALLEL: usize = 8;

/// A call, and the tool that is meant with what it is given; or why there is none.
pub(super) struct RequestedCall {
    pub(super) call: ToolCall,
    meant: Result<(Arc<dyn Tool>, Value), String>,
}

impl RequestedCall {
    /// Finds out what a call means.
    pub(super) fn new(call: ToolCall, kit: &ToolSet) -> Self {
        let meant = match kit.find(&call.name) {
            Some(tool) => arguments(&call).map(|input| (Arc::clone(tool), input)),
            None => Err(format!(
                "no tool is called {:?}: there are {}",
                call.name,
                kit.names()
            )),
        };
        Self { call, meant }
    }

    /// What the tool is given, as far as it can be told.
    fn input(&self) -> Value {
        match &self.meant {
            Ok((_, input)) => input.clone(),
            Err(_) => self.call.input_object(),
        }
    }

    /// The call as it is remembered: some servers refuse a conversation with a call whose input is no object.
    pub(super) fn for_history(&self) -> ToolCall {
        ToolCall {
            input: self.input().to_string(),
            ..self.call.clone()
        }
    }

    /// The result that says why there is none.
    pub(super) fn skipped_result(&self, why: &str) -> ToolResult {
        result(&self.call, false, why.to_owned())
    }

    fn is_read_only(&self) -> bool {
        matches!(&self.meant, Ok((tool, _)) if is_read_only(tool.as_ref()))
    }
}

/// Whether these may run at once: nobody changes what another looks at.
pub(super) fn can_run_in_parallel(asked: &[RequestedCall]) -> bool {
    asked.len() > 1 && asked.iter().all(RequestedCall::is_read_only)
}

/// What running a call needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallRunner<'a> {
    pub(super) consent: PermissionCheck<'a>,
    pub(super) clock: &'a Arc<dyn Clock>,
    pub(super) out: &'a EventSink,
}

impl CallRunner<'_> {
    /// Runs tools that only look, several at once; the results come in the order of the calls.
    pub(super) async fn run_parallel(self, asked: &[RequestedCall]) -> Vec<ToolResult> {
        // A loop, not a closure: with one, the compiler does not see that the future can move between threads.
        let mut work = Vec::new();
        for (place, asked) in asked.iter().enumerate() {
            work.push(async move { (place, self.run(asked).await) });
        }
        let mut results: Vec<(usize, ToolResult)> = stream::iter(work)
            .buffer_unordered(MAX_PARALLEL)
            .collect()
            .await;
        results.sort_by_key(|(place, _)| *place);
        results.into_iter().map(|(_, result)| result).collect()
    }

    /// Runs one call, from its permission to its end.
    pub(super) async fn run(self, asked: &RequestedCall) -> ToolResult {
        let (id, name) = (&asked.call.id, &asked.call.name);
        let input = asked.input();
        let granted = match &asked.meant {
            Ok((tool, input)) => {
                let granted = self.consent.check(id, tool.as_ref(), input, self.out).await;
                granted.map(|()| (tool, input))
            }
            Err(problem) => Err(problem.clone()),
        };
        self.out
            .send(AgentEvent::ToolStart {
                id: id.clone(),
                name: name.clone(),
                input,
            })
            .await;
        let since = self.clock.elapsed();
        let (success, text, output) = match granted {
            Ok((tool, input)) => match tool.call(input.clone()).await {
                Ok(done) => (done.success, done.text, done.output),
                Err(error) => failure(error.to_string()),
            },
            Err(problem) => failure(problem),
        };
        let took = self.clock.elapsed().saturating_sub(since);
        self.out
            .send(AgentEvent::ToolEnd {
                id: id.clone(),
                name: name.clone(),
                output,
                success,
                duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            })
            .await;
        result(&asked.call, success, text)
    }
}

fn failure(problem: String) -> (bool, String, Value) {
    let output = json!({ "error": problem });
    (false, problem, output)
}

fn result(call: &ToolCall, success: bool, text: String) -> ToolResult {
    ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        kind: call.kind,
        parts: vec![Part::text(truncate_result(text))],
        is_error: !success,
        ..ToolResult::default()
    }
}

/// The object that a call gives its tool: written as one, or as a string that holds one.
fn arguments(call: &ToolCall) -> Result<Value, String> {
    if call.kind == ToolInputKind::Freeform {
        return Ok(json!({ "input": call.input }));
    }
    let text = call.input.trim();
    if text.is_empty() {
        return Ok(json!({}));
    }
    let wrong = |problem: String| {
        Err(format!(
            "the arguments of {} are not a JSON object ({problem}): make the call again",
            call.name
        ))
    };
    let mut value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return wrong(error.to_string()),
    };
    if let Value::String(inner) = &value {
        value = match serde_json::from_str(inner) {
            Ok(value) => value,
            Err(error) => return wrong(error.to_string()),
        };
    }
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Ok(json!({})),
        _ => wrong("it is another kind of value".to_owned()),
    }
}

/// Head and tail of what is too long for a model.
fn truncate_result(text: String) -> String {
    // An empty result is no result to some APIs.
    if text.is_empty() {
        return "(nothing)".to_owned();
    }
    if text.len() <= OUTPUT_BYTES {
        return text;
    }
    let head = text.floor_char_boundary(OUTPUT_BYTES / 2);
    let tail = text.ceil_char_boundary(text.len() - OUTPUT_BYTES / 2);
    let cut = tail - head;
    format!("{}\n[{cut} bytes cut]\n{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(input: &str) -> Result<Value, String> {
        arguments(&ToolCall {
            name: "t".to_owned(),
            input: input.to_owned(),
            ..ToolCall::default()
        })
    }

    #[test]
    fn arguments_come_as_an_object_or_as_a_string_that_holds_one() {
        let wanted = json!({ "a": 1 });
        for input in [r#"{"a":1}"#, r#" {"a": 1} "#, r#""{\"a\":1}""#] {
            assert_eq!(given(input), Ok(wanted.clone()), "{input}");
        }
        for nothing in ["", "  ", "null", "{}"] {
            assert_eq!(given(nothing), Ok(json!({})), "{nothing}");
        }
        for bad in ["{", "[1]", "3", "\"x\"", r#"{"a":1}{"b":2}"#] {
            let problem = given(bad).unwrap_err();
            assert!(
                problem.starts_with("the arguments of t are not a JSON object"),
                "{problem}"
            );
        }
    }

    #[test]
    fn p12_a_result_is_bounded_and_never_empty() {
        assert_eq!(truncate_result(String::new()), "(nothing)");
        let long = truncate_result("é".repeat(OUTPUT_BYTES));
        assert!(long.len() < OUTPUT_BYTES + 64 && long.contains(" bytes cut]"));
    }
}
