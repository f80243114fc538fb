//! Traces in the JSON encoding of OTLP: ids in hexadecimal digits, 64-bit integers as texts, enumerations as numbers.

use serde::Serialize;
use windlass_core::{ErrorCode, TraceIds, TraceNode, Usage};

/// Maximum length of a name and of an error message, in characters.
const MAX_NAME: usize = 200;
const MAX_MESSAGE: usize = 2_000;
/// Nanoseconds of a millisecond.
const NANOS: u128 = 1_000_000;
/// The kinds of spans: a step, and a request from outside.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;
/// The status of a failed span.
const ERROR: u8 = 2;

/// A step of a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OtlpSpan {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    name: String,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Attribute>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Status {
    code: u8,
    message: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Attribute {
    key: &'static str,
    value: AttributeValue,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
enum AttributeValue {
    #[serde(rename = "stringValue")]
    Text(String),
    #[serde(rename = "intValue")]
    Int(String),
    #[serde(rename = "doubleValue")]
    Double(f64),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportRequest<'a> {
    resource_spans: [ResourceSpans<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    resource: SpanResource,
    scope_spans: [ScopeSpans<'a>; 1],
}

#[derive(Serialize)]
struct SpanResource {
    attributes: Vec<Attribute>,
}

#[derive(Serialize)]
struct ScopeSpans<'a> {
    scope: SpanScope,
    spans: &'a [OtlpSpan],
}

#[derive(Serialize)]
struct SpanScope {
    name: &'static str,
    version: &'static str,
}

/// Encodes a request with these spans.
pub(super) fn export_request(
    service: &str,
    spans: &[OtlpSpan],
) -> Result<String, serde_json::Error> {
    let version = env!("CARGO_PKG_VERSION");
    let attributes = vec![
        text("service.name", service),
        text("service.version", version),
    ];
    let name = "windlass";
    serde_json::to_string(&ExportRequest {
        resource_spans: [ResourceSpans {
            resource: SpanResource { attributes },
            scope_spans: [ScopeSpans {
                scope: SpanScope { name, version },
                spans,
            }],
        }],
    })
}

/// Returns how many steps a trace has.
pub(super) fn count(node: &TraceNode) -> usize {
    1 + node.children.iter().map(count).sum::<usize>()
}

/// Returns the spans of a trace, at most `limit`, each after the one that it is inside of. A caller that does not record its
/// trace gets none.
pub(super) fn spans(store: &str, id: &str, root: &TraceNode, limit: usize) -> Vec<OtlpSpan> {
    let parent = root.traceparent.as_ref();
    if parent.is_some_and(|parent| !parent.is_sampled()) {
        return Vec::new();
    }
    let mut builder = SpanBuilder {
        ids: TraceIds::new(store, id, parent),
        limit,
        spans: Vec::new(),
    };
    let parent_id = parent.map(|parent| parent.span_id().to_owned());
    builder.add(root, &mut Vec::new(), parent_id);
    if let Some(first) = builder.spans.first_mut() {
        first.kind = if is_request(id) { SERVER } else { INTERNAL };
        first.attributes.push(text("windlass.store", store));
        first.attributes.push(text("windlass.trace", id));
        first.attributes.extend(attempt_attributes(id));
    }
    builder.spans
}

/// Only the trace of a request has an id without the number of a task.
fn is_request(id: &str) -> bool {
    !id.starts_with("task-")
}

/// Returns the task and the attempt of a trace: `task-12-attempt-3`.
fn attempt_attributes(id: &str) -> Vec<Attribute> {
    let numbers = id.strip_prefix("task-");
    let numbers = numbers.and_then(|rest| rest.split_once("-attempt-"));
    let Some((task, attempt)) = numbers else {
        return Vec::new();
    };
    let number = |key, digits: &str| Some(int(key, digits.parse().ok()?));
    [
        number("windlass.task", task),
        number("windlass.attempt", attempt),
    ]
    .into_iter()
    .flatten()
    .collect()
}

struct SpanBuilder {
    ids: TraceIds,
    limit: usize,
    spans: Vec<OtlpSpan>,
}

impl SpanBuilder {
    fn add(&mut self, node: &TraceNode, path: &mut Vec<usize>, parent: Option<String>) {
        if self.spans.len() >= self.limit {
            return;
        }
        let span_id = self.ids.span_id(path);
        let start = u128::from(node.start.0) * NANOS;
        let end = start + u128::from(node.duration_ms) * NANOS;
        self.spans.push(OtlpSpan {
            trace_id: self.ids.trace_id().to_owned(),
            span_id: span_id.clone(),
            parent_span_id: parent,
            name: cut(&node.name, MAX_NAME),
            kind: INTERNAL,
            start_time_unix_nano: start.to_string(),
            end_time_unix_nano: end.to_string(),
            attributes: attributes(node),
            status: node.error.as_ref().map(|error| Status {
                code: ERROR,
                message: cut(&error.message, MAX_MESSAGE),
            }),
        });
        for (position, child) in node.children.iter().enumerate() {
            path.push(position);
            self.add(child, path, Some(span_id.clone()));
            path.pop();
        }
    }
}

/// Returns what is known about a step. The names are those of OpenTelemetry's conventions where there are any.
fn attributes(node: &TraceNode) -> Vec<Attribute> {
    let agent = node.agent.as_ref().filter(|agent| !agent.is_empty());
    let mut known = Vec::new();
    known.extend(agent.map(|agent| text("gen_ai.agent.name", &cut(agent, MAX_NAME))));
    known.extend(
        node.exit_code
            .map(|code| int("process.exit.code", code.into())),
    );
    let status = node
        .status
        .map(|status| int("http.response.status_code", status.into()));
    known.extend(status);
    let code = node.error.as_ref().map(|error| error.code);
    known.extend(code.map(|code: ErrorCode| text("error.type", code.as_str())));
    known.extend(node.usage.iter().flat_map(usage_attributes));
    known
}

fn usage_attributes(usage: &Usage) -> Vec<Attribute> {
    let tokens = |key, count: u64| int(key, i64::try_from(count).unwrap_or(i64::MAX));
    let mut known = vec![
        tokens("gen_ai.usage.input_tokens", usage.input_tokens),
        tokens("gen_ai.usage.output_tokens", usage.output_tokens),
    ];
    known.extend(usage.cost_usd.map(|cost| Attribute {
        key: "windlass.cost_usd",
        value: AttributeValue::Double(cost),
    }));
    known
}

fn text(key: &'static str, value: &str) -> Attribute {
    Attribute {
        key,
        value: AttributeValue::Text(value.to_owned()),
    }
}

fn int(key: &'static str, value: i64) -> Attribute {
    Attribute {
        key,
        value: AttributeValue::Int(value.to_string()),
    }
}

fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windlass_core::{Timestamp, TraceError, TraceParent};

    use super::*;

    fn failed_attempt() -> TraceNode {
        let turn = TraceNode {
            name: "prompt".to_owned(),
            agent: Some("codex".to_owned()),
            start: Timestamp(1_700_000_000_123),
            duration_ms: 2,
            exit_code: Some(1),
            stderr: Some("the output of a process".to_owned()),
            error: Some(TraceError {
                code: ErrorCode::RateLimited,
                message: "é".repeat(MAX_MESSAGE + 1),
            }),
            ..TraceNode::default()
        };
        TraceNode {
            name: "attempt".to_owned(),
            start: Timestamp(1_700_000_000_000),
            duration_ms: 500,
            usage: Some(Usage {
                input_tokens: u64::MAX,
                output_tokens: 7,
                cost_usd: Some(0.5),
                ..Usage::default()
            }),
            children: vec![turn],
            ..TraceNode::default()
        }
    }

    fn encoded(spans: &[OtlpSpan]) -> Value {
        serde_json::from_str(&export_request("shop", spans).unwrap()).unwrap()
    }

    #[test]
    fn span_has_the_fields_of_the_protocol() {
        let spans = spans("0badcafe", "task-3-attempt-2", &failed_attempt(), 10);
        let request = encoded(&spans);
        let resource = &request["resourceSpans"][0];
        assert_eq!(
            resource["resource"]["attributes"][0],
            json!({"key": "service.name", "value": {"stringValue": "shop"}})
        );
        let found = &resource["scopeSpans"][0]["spans"];
        let ids = TraceIds::new("0badcafe", "task-3-attempt-2", None);
        let (root, turn) = (&found[0], &found[1]);
        assert_eq!(root["traceId"], ids.trace_id());
        assert_eq!(root["spanId"], ids.span_id(&[]));
        assert_eq!(root.get("parentSpanId"), None);
        assert_eq!(root["startTimeUnixNano"], "1700000000000000000");
        assert_eq!(root["endTimeUnixNano"], "1700000000500000000");
        assert_eq!(root["kind"], 1);
        let attributes = root["attributes"].as_array().unwrap();
        for expected in [
            json!({"key": "gen_ai.usage.input_tokens", "value": {"intValue": i64::MAX.to_string()}}),
            json!({"key": "windlass.cost_usd", "value": {"doubleValue": 0.5}}),
            json!({"key": "windlass.task", "value": {"intValue": "3"}}),
            json!({"key": "windlass.attempt", "value": {"intValue": "2"}}),
        ] {
            assert!(
                attributes.contains(&expected),
                "{expected} in {attributes:?}"
            );
        }
        assert_eq!(turn["parentSpanId"], root["spanId"]);
        assert_eq!(turn["status"]["code"], 2);
        let message = turn["status"]["message"].as_str().unwrap();
        assert_eq!(message.chars().count(), MAX_MESSAGE + 1);
        assert!(!request.to_string().contains("the output of a process"));
    }

    #[test]
    fn request_continues_the_trace_of_its_caller() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let id = "0af7651916cd43dd8448eb211c80319c";
        let mut root = failed_attempt();
        root.traceparent = TraceParent::parse(parent);
        let found = spans("0badcafe", id, &root, 10);
        let first = &encoded(&found)["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!(first["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(first["parentSpanId"], "00f067aa0ba902b7");
        assert_eq!(first["kind"], 2);
        root.traceparent = TraceParent::parse(&parent.replace("b7-01", "b7-00"));
        assert_eq!(spans("0badcafe", id, &root, 10), []);
    }

    #[test]
    fn large_trace_is_cut() {
        let root = TraceNode {
            children: vec![failed_attempt(); 10],
            ..TraceNode::default()
        };
        assert_eq!(count(&root), 21);
        assert_eq!(spans("0badcafe", "task-1-attempt-1", &root, 5).len(), 5);
    }
}
