//! Traces at an OpenTelemetry collector: a receiver that decodes the protocol by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use windlass_core::{Clock, SystemClock};

use super::cli_harness::Run;
use super::serve_harness::ServeProcess;
use super::task_harness::{INSTANT, TaskHarness};

/// Longer than a batch waits.
const SOON: Duration = Duration::from_secs(60);

/// A request as it was received.
#[derive(Debug, Clone)]
struct Received {
    head: String,
    body: Value,
    status: u16,
}

/// A receiver of OTLP over HTTP on loopback. It ends with the test's process.
struct Collector {
    port: u16,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Collector {
    /// Starts a receiver that gives these answers, and then accepts everything.
    fn start(first: &'static [(u16, &'static str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let kept = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || serve(stream, &kept, first));
            }
        });
        Self { port, received }
    }

    fn received(&self) -> Vec<Received> {
        self.received.lock().clone()
    }

    /// Returns the accepted spans.
    fn spans(&self) -> Vec<Span> {
        let received = self.received();
        let accepted = received.iter().filter(|request| request.status == 200);
        accepted.flat_map(|request| decode(&request.body)).collect()
    }

    /// Waits until this many spans were accepted.
    #[track_caller]
    fn wait_for(&self, count: usize) -> Vec<Span> {
        let clock = SystemClock::new();
        loop {
            let spans = self.spans();
            if spans.len() >= count {
                return spans;
            }
            assert!(clock.elapsed() < SOON, "only {spans:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn serve(stream: TcpStream, kept: &Mutex<Vec<Received>>, first: &[(u16, &str)]) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        head = head.to_lowercase();
        let length = head.split("content-length: ").nth(1).unwrap();
        let length = length.split("\r\n").next().unwrap().parse().unwrap();
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let body = serde_json::from_slice(&body).unwrap();
        let mut kept = kept.lock();
        let (status, header) = first.get(kept.len()).copied().unwrap_or((200, ""));
        kept.push(Received { head, body, status });
        let answer = format!(
            "HTTP/1.1 {status} Answer\r\n{header}content-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
        );
        writer.write_all(answer.as_bytes()).unwrap();
    }
}

/// A decoded span.
#[derive(Debug, Clone)]
struct Span {
    trace: String,
    id: String,
    parent: Option<String>,
    name: String,
    kind: u64,
    start_ms: u64,
    duration_ms: u64,
    has_error: bool,
    attributes: BTreeMap<String, Value>,
}

/// Decodes a request as the protocol says. A field that the protocol does not have is an error.
fn decode(request: &Value) -> Vec<Span> {
    let mut spans = Vec::new();
    for resource in list(fields(request, &["resourceSpans"]), "resourceSpans") {
        let known = fields(resource, &["resource", "scopeSpans"]);
        let attributes = attributes(fields(&known["resource"], &["attributes"]));
        assert_eq!(attributes["service.name"], "shop-agents");
        for scope in list(known, "scopeSpans") {
            let known = fields(scope, &["scope", "spans"]);
            assert_eq!(
                fields(&known["scope"], &["name", "version"])["name"],
                "windlass"
            );
            spans.extend(list(known, "spans").iter().map(span));
        }
    }
    spans
}

fn span(span: &Value) -> Span {
    let known = fields(
        span,
        &[
            "traceId",
            "spanId",
            "parentSpanId",
            "name",
            "kind",
            "startTimeUnixNano",
            "endTimeUnixNano",
            "attributes",
            "status",
        ],
    );
    let id = |name: &str, digits: usize| {
        let id = known[name].as_str().unwrap().to_owned();
        assert!(
            id.len() == digits && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{id}"
        );
        assert!(id.bytes().any(|byte| byte != b'0'), "{id}");
        id
    };
    let time = |name: &str| known[name].as_str().unwrap().parse::<u64>().unwrap() / 1_000_000;
    let start_ms = time("startTimeUnixNano");
    if let Some(status) = known.get("status") {
        assert_eq!(fields(status, &["code", "message"])["code"], 2);
    }
    Span {
        trace: id("traceId", 32),
        id: id("spanId", 16),
        parent: known.get("parentSpanId").map(|_| id("parentSpanId", 16)),
        name: known["name"].as_str().unwrap().to_owned(),
        kind: known["kind"].as_u64().unwrap(),
        start_ms,
        duration_ms: time("endTimeUnixNano") - start_ms,
        has_error: known.contains_key("status"),
        attributes: attributes(known),
    }
}

type Fields = serde_json::Map<String, Value>;

#[track_caller]
fn fields<'a>(value: &'a Value, known: &[&str]) -> &'a Fields {
    let fields = value.as_object().unwrap();
    let unknown = fields.keys().find(|name| !known.contains(&name.as_str()));
    assert_eq!(unknown, None, "{value}");
    fields
}

fn list<'a>(fields: &'a Fields, name: &str) -> &'a Vec<Value> {
    fields[name].as_array().unwrap()
}

fn attributes(known: &Fields) -> BTreeMap<String, Value> {
    let attribute = |entry: &Value| {
        let entry = fields(entry, &["key", "value"]);
        let value = entry["value"].as_object().unwrap();
        let (kind, value) = value.iter().next().unwrap();
        let value = match kind.as_str() {
            "stringValue" => json!(value.as_str().unwrap()),
            "intValue" => json!(value.as_str().unwrap().parse::<i64>().unwrap()),
            "doubleValue" => json!(value.as_f64().unwrap()),
            other => unreachable!("unknown: {other}"),
        };
        (entry["key"].as_str().unwrap().to_owned(), value)
    };
    list(known, "attributes").iter().map(attribute).collect()
}

/// A step: its id, that of the step around it, its name, start, duration, and whether it failed.
type Step = (String, Option<String>, String, u64, u64, bool);

fn steps_of_spans(spans: &[Span]) -> BTreeSet<Step> {
    let step = |span: &Span| {
        (
            span.id.clone(),
            span.parent.clone(),
            span.name.clone(),
            span.start_ms,
            span.duration_ms,
            span.has_error,
        )
    };
    spans.iter().map(step).collect()
}

/// Returns the steps of the output of `windlass trace --json`.
fn steps_of_trace(node: &Value, parent: Option<String>) -> BTreeSet<Step> {
    let id = node["span_id"].as_str().unwrap().to_owned();
    let mut steps = BTreeSet::from([(
        id.clone(),
        parent,
        node["name"].as_str().unwrap().to_owned(),
        node["start"].as_u64().unwrap(),
        node["duration_ms"].as_u64().unwrap(),
        node["error"].is_object(),
    )]);
    for child in node["children"].as_array().into_iter().flatten() {
        steps.extend(steps_of_trace(child, Some(id.clone())));
    }
    steps
}

/// Adds the collector to the configuration.
fn configure(harness: &TaskHarness, port: u16) {
    let file = harness.path("named.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    let telemetry = format!(
        "[telemetry]\notlp_endpoint = \"http://127.0.0.1:{port}\"\nservice_name = \"shop-agents\"\n"
    );
    std::fs::write(&file, config + &telemetry).unwrap();
}

/// The first change lacks what the test wants.
const CORRECTED: &str = r#"{"turns": [
  {"answer": [{"write_file": {"path": "other.txt", "content": "canary-in-a-file\n"}}]},
  {"answer": [{"text": "canary-in-an-answer"}]},
  {"answer": [{"write_file": {"path": "done.txt", "content": "done\n"}}]},
  {"answer": [{"text": "Done."}]}
]}"#;

#[test]
fn spans_of_an_attempt_are_the_steps_of_its_trace() {
    // The collector is busy at first.
    let collector = Collector::start(&[(503, "retry-after: 0\r\n"), (429, "retry-after: 1\r\n")]);
    let test =
        "test -f done.txt && echo '1 passed, 0 failed' || { echo '0 passed, 1 failed'; exit 1; }";
    let harness = TaskHarness::new(test, CORRECTED);
    configure(&harness, collector.port);
    harness.json(&["task", "add", "canary-in-a-prompt", "--json"]);
    let worker = harness
        .command()
        .env(
            "OTEL_EXPORTER_OTLP_HEADERS",
            "authorization=Bearer%20canary-of-the-collector",
        )
        .args(["worker", "--once"])
        .output();
    let worker = worker.unwrap();
    assert!(worker.status.success(), "{worker:?}");

    // All were sent before the worker ended.
    let received = collector.received();
    let statuses: Vec<u16> = received.iter().map(|request| request.status).collect();
    assert_eq!(statuses, [503, 429, 200]);
    assert_eq!(
        received[0].body, received[2].body,
        "nothing was lost by the retries"
    );
    assert!(
        received[0].head.starts_with("post /v1/traces http/1.1\r\n"),
        "{}",
        received[0].head
    );
    assert!(
        received[0]
            .head
            .contains("authorization: bearer canary-of-the-collector\r\n")
    );
    let trace = harness.json(&["trace", "task-1-attempt-1", "--json"]);
    let spans = collector.spans();
    assert_eq!(steps_of_spans(&spans), steps_of_trace(&trace, None));
    let named = |name: &str| spans.iter().filter(|span| span.name == name).count();
    assert_eq!((named("attempt"), named("prompt")), (1, 2), "{spans:?}");
    assert!(
        spans
            .iter()
            .any(|span| span.name == "tests" && span.has_error)
    );
    let root = spans.iter().find(|span| span.parent.is_none()).unwrap();
    assert!(spans.iter().all(|span| span.trace == trace["trace_id"]));
    assert_eq!(
        (root.kind, &root.attributes["windlass.task"]),
        (1, &json!(1))
    );
    assert_eq!(root.attributes["windlass.trace"], "task-1-attempt-1");
    // The same trace under the collector's id.
    let id = root.trace.as_str();
    assert_eq!(harness.json(&["trace", id, "--json"]), trace);
    let shown = harness.run(&["trace", "task-1-attempt-1"]).stdout;
    assert!(
        shown.contains(&format!("OpenTelemetry trace {id}")),
        "{shown}"
    );
    let unknown = harness.run(&["trace", &"0a".repeat(16)]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
    let sent = received[0].body.to_string();
    assert!(!sent.contains("canary"), "{sent}");
}

/// Sends a prompt with this header, and returns the id of its trace.
fn ask(serving: &ServeProcess, header: &str) -> String {
    let body =
        json!({"model": "player", "messages": [{"role": "user", "content": "Hello?"}]}).to_string();
    let (addr, token) = (&serving.addr, &serving.token);
    let text = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
         {header}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let id = answer.split("x-windlass-trace: ").nth(1).unwrap();
    id.split("\r\n").next().unwrap().to_owned()
}

#[test]
fn request_continues_the_trace_of_its_caller() {
    let collector = Collector::start(&[]);
    let script = r#"{"turns": [{"or_more": true, "answer": [{"text": "Hello."}]}]}"#;
    let harness = TaskHarness::new("true", script);
    configure(&harness, collector.port);
    let serving = ServeProcess::start(&harness, &["--no-worker", "--log-format", "json", "-vv"]);
    let caller = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("traceparent: 00-{caller}-00f067aa0ba902b7-01\r\n");
    let continued = ask(&serving, &parent);
    let spans = collector.wait_for(2);
    let trace = harness.json(&["trace", &continued, "--json"]);
    let expected = steps_of_trace(&trace, Some("00f067aa0ba902b7".to_owned()));
    assert_eq!(steps_of_spans(&spans), expected);
    assert!(spans.iter().all(|span| span.trace == caller), "{spans:?}");
    assert_eq!(spans[0].kind, 2, "{spans:?}");
    assert_eq!(harness.json(&["trace", caller, "--json"]), trace);

    // A header that is not valid, and two of them, are ignored; a caller that does not record its trace gets no spans.
    let silent = ask(&serving, &parent.replace("-01\r\n", "-00\r\n"));
    let first = ask(&serving, "traceparent: 00-xyz-01\r\n");
    let second = ask(&serving, &(parent.clone() + &parent));
    let spans = collector.wait_for(6);
    let traces: BTreeSet<&str> = spans.iter().map(|span| span.trace.as_str()).collect();
    assert_eq!(traces, BTreeSet::from([caller, &first, &second]));
    assert!(
        !spans
            .iter()
            .any(|span| span.attributes.get("windlass.trace") == Some(&json!(silent)))
    );
    let (_, metrics) = serving.raw_request("GET", "/metrics", None);
    assert!(
        metrics.contains("windlass_trace_spans_total{result=\"exported\"} 6"),
        "{metrics}"
    );
    assert!(
        metrics.contains("windlass_trace_spans_total{result=\"dropped\"} 0"),
        "{metrics}"
    );

    // The log has the same ids.
    assert_eq!(serving.terminate().0, Some(0));
    let log = std::fs::read_to_string(harness.path("serve.log")).unwrap();
    let lines: Vec<Value> = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let ended = |id: &str| {
        let mut lines = lines.iter();
        let found =
            lines.find(|line| line["message"] == "request completed" && line["trace"] == id);
        found.unwrap_or_else(|| panic!("{log}")).clone()
    };
    assert_eq!(ended(&continued)["trace_id"], caller);
    assert_eq!(ended(&first)["trace_id"], json!(first));
    assert!(ended(&first)["request_id"].is_string(), "{log}");
    let prompts = lines
        .iter()
        .filter(|line| line["message"] == "sending prompt");
    assert!(
        prompts.clone().count() == 4 && prompts.clone().all(|line| line["trace"].is_string()),
        "{log}"
    );
}

#[test]
fn dead_collector_is_logged_once_and_costs_no_task() {
    // Nothing listens on this port.
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let harness = TaskHarness::new("test -f done.txt", INSTANT);
    configure(&harness, port);
    for _ in 0..3 {
        harness.json(&["task", "add", "Do it", "--json"]);
    }
    let worker = Run::of(
        harness
            .command()
            .args(["worker", "--once", "--log-format", "json"]),
    );
    assert_eq!(worker.code, 0, "{worker:?}");
    let warnings = worker
        .stderr
        .matches("not accepted by the collector")
        .count();
    assert_eq!(warnings, 1, "{worker:?}");
    let listed = harness.json(&["task", "list", "--json"]);
    let is_completed = |task: &Value| task["status"] == "completed";
    assert!(
        listed.as_array().unwrap().iter().all(is_completed),
        "{listed}"
    );
}

#[test]
fn log_of_an_attempt_has_its_ids() {
    let harness = TaskHarness::new("test -f done.txt", INSTANT);
    harness.json(&["task", "add", "Do it", "--json"]);
    let worker =
        Run::of(
            harness
                .command()
                .args(["worker", "--once", "-v", "--log-format", "json"]),
        );
    assert_eq!(worker.code, 0, "{worker:?}");
    let trace = harness.json(&["trace", "task-1-attempt-1", "--json"]);
    let lines = worker
        .stderr
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let lines: Vec<Value> = lines.collect();
    for message in ["sending prompt", "attempt ended"] {
        let line = lines.iter().find(|line| line["message"] == message);
        let line = line.unwrap_or_else(|| panic!("{message}: {worker:?}"));
        let ids = (
            &line["task"],
            &line["attempt"],
            &line["trace"],
            &line["trace_id"],
        );
        assert_eq!(
            ids,
            (
                &json!(1),
                &json!(1),
                &json!("task-1-attempt-1"),
                &trace["trace_id"]
            ),
            "{line}"
        );
    }
}
