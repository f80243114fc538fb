//! Runs the tool calls of a model.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream;
use serde_json::{Value, json};
use windlass_core::limits::OUTPUT_BYTES;
use windlass_core::{AgentEvent, Clock, EventSink, Tool, cut_middle};
use windlass_wire::{Part, ToolCall, ToolInputKind, ToolResult};

use super::permission::PermissionCheck;
use super::tool_set::{ToolSet, is_read_only};

/// The most read-only tools that run concurrently.
const MAX_PARALLEL: usize = 8;

/// A call with the tool and the arguments that it resolves to, or the reason why it does not resolve.
pub(super) struct RequestedCall {
    pub(super) call: ToolCall,
    resolved: Result<(Arc<dyn Tool>, Value), String>,
}

impl RequestedCall {
    /// Resolves the tool and the arguments of a call.
    pub(super) fn new(call: ToolCall, tools: &ToolSet) -> Self {
        let resolved = match tools.find(&call.name) {
            Some(tool) => arguments(&call).map(|input| (Arc::clone(tool), input)),
            None => Err(format!(
                "unknown tool {:?}; available tools: {}",
                call.name,
                tools.names()
            )),
        };
        Self { call, resolved }
    }

    /// Returns the arguments, or the best approximation if the call does not resolve.
    fn input(&self) -> Value {
        match &self.resolved {
            Ok((_, input)) => input.clone(),
            Err(_) => self.call.input_object(),
        }
    }

    /// Returns the call for the history, with an object as input: some servers reject a conversation that contains a
    /// call with other input.
    pub(super) fn for_history(&self) -> ToolCall {
        ToolCall {
            input: self.input().to_string(),
            ..self.call.clone()
        }
    }

    /// Builds the error result of a call that was not run.
    pub(super) fn skipped_result(&self, reason: &str) -> ToolResult {
        result(&self.call, false, reason.to_owned())
    }

    pub(super) fn is_read_only(&self) -> bool {
        matches!(&self.resolved, Ok((tool, _)) if is_read_only(tool.as_ref()))
    }
}

/// Returns `true` if these calls may run concurrently: there are several, and all are read-only.
pub(super) fn can_run_in_parallel(calls: &[RequestedCall]) -> bool {
    calls.len() > 1 && calls.iter().all(RequestedCall::is_read_only)
}

/// Runs calls, with permission checks and events.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallRunner<'a> {
    pub(super) permission: PermissionCheck<'a>,
    pub(super) clock: &'a Arc<dyn Clock>,
    pub(super) out: &'a EventSink,
}

impl CallRunner<'_> {
    /// Runs read-only calls concurrently. The results are in the order of the calls.
    pub(super) async fn run_parallel(self, calls: &[RequestedCall]) -> Vec<ToolResult> {
        // A loop instead of a closure: with a closure the compiler cannot prove that the future is `Send`.
        let mut work = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            work.push(async move { (index, self.run(call, None).await) });
        }
        let mut results: Vec<(usize, ToolResult)> = stream::iter(work)
            .buffer_unordered(MAX_PARALLEL)
            .collect()
            .await;
        results.sort_by_key(|(index, _)| *index);
        results.into_iter().map(|(_, result)| result).collect()
    }

    /// Checks the permission of one call and runs it, unless it is known to fail for this reason.
    pub(super) async fn run(
        self,
        requested: &RequestedCall,
        known_failure: Option<String>,
    ) -> ToolResult {
        let (id, name) = (&requested.call.id, &requested.call.name);
        let input = requested.input();
        let granted = match &requested.resolved {
            _ if known_failure.is_some() => Err(known_failure.unwrap_or_default()),
            Ok((tool, input)) => {
                let granted = self
                    .permission
                    .check(id, tool.as_ref(), input, self.out)
                    .await;
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
        let started = self.clock.elapsed();
        let (success, text, output) = match granted {
            Ok((tool, input)) => match tool.call(input.clone()).await {
                Ok(done) => (done.success, done.text, done.output),
                Err(error) => failure(error.to_string()),
            },
            Err(problem) => failure(problem),
        };
        let duration = self.clock.elapsed().saturating_sub(started);
        self.out
            .send(AgentEvent::ToolEnd {
                id: id.clone(),
                name: name.clone(),
                output,
                success,
                duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            })
            .await;
        result(&requested.call, success, text)
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

/// Parses the arguments of a call: a JSON object, or a string that contains one.
fn arguments(call: &ToolCall) -> Result<Value, String> {
    if call.kind == ToolInputKind::Freeform {
        return Ok(json!({ "input": call.input }));
    }
    let text = call.input.trim();
    if text.is_empty() {
        return Ok(json!({}));
    }
    let invalid = |problem: String| {
        Err(format!(
            "the arguments of {} are not a JSON object ({problem}): make the call again",
            call.name
        ))
    };
    let mut value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return invalid(error.to_string()),
    };
    if let Value::String(inner) = &value {
        value = match serde_json::from_str(inner) {
            Ok(value) => value,
            Err(error) => return invalid(error.to_string()),
        };
    }
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Ok(json!({})),
        _ => invalid("found another type".to_owned()),
    }
}

/// Returns the text, or its head and tail if it is too long for a model.
fn truncate_result(text: String) -> String {
    // Some APIs treat an empty result as a missing one.
    if text.is_empty() {
        return "(no output)".to_owned();
    }
    cut_middle(text, OUTPUT_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(input: &str) -> Result<Value, String> {
        arguments(&ToolCall {
            name: "t".to_owned(),
            input: input.to_owned(),
            ..ToolCall::default()
        })
    }

    #[test]
    fn arguments_are_an_object_or_a_string_that_contains_one() {
        let expected = json!({ "a": 1 });
        for input in [r#"{"a":1}"#, r#" {"a": 1} "#, r#""{\"a\":1}""#] {
            assert_eq!(parse(input), Ok(expected.clone()), "{input}");
        }
        for empty in ["", "  ", "null", "{}"] {
            assert_eq!(parse(empty), Ok(json!({})), "{empty}");
        }
        for bad in ["{", "[1]", "3", "\"x\"", r#"{"a":1}{"b":2}"#] {
            let problem = parse(bad).unwrap_err();
            assert!(
                problem.starts_with("the arguments of t are not a JSON object"),
                "{problem}"
            );
        }
    }

    #[test]
    fn p12_result_is_bounded_and_never_empty() {
        assert_eq!(truncate_result(String::new()), "(no output)");
        let long = truncate_result("é".repeat(OUTPUT_BYTES));
        assert!(long.len() < OUTPUT_BYTES + 64 && long.contains(" bytes cut …]"));
    }
}
