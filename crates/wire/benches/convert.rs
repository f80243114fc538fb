//! Benchmarks the conversion of the five APIs, compared with parsing the same bytes into a `Value` with
//! serde_json.
//!
//! `cargo bench -p windlass-wire`

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use serde_json::{Value, json};
use windlass_wire::{
    Dialect, FunctionTool, Message, ModelEvent, ModelRequest, ModelResponse, Part, Reasoning,
    ResponseStyle, Role, Route, StreamDecoder, StreamEncoder, Text, ToolCall, ToolDefinition,
    ToolResult,
};

fn main() {
    divan::main();
}

/// Creates a request as an agent sends it during its work: long instructions, many tools, forty turns.
fn request() -> ModelRequest {
    let mut request = ModelRequest::new("model");
    request.stream = true;
    request.instructions = vec![Text::new(
        "Follow the \"rules\" of the house.\n".repeat(600),
    )];
    request.tools = (0..16)
        .map(|n| {
            let mut tool = FunctionTool::new(format!("tool_{n}"));
            tool.description = Some("Does one thing and does it well. ".repeat(20));
            tool.schema = json!({
                "type": "object",
                "properties": { "path": { "type": "string" }, "text": { "type": "string" } },
                "required": ["path"],
            });
            ToolDefinition::Function(tool)
        })
        .collect();
    for turn in 0..40 {
        request.messages.extend(round(turn));
    }
    request
}

fn round(turn: usize) -> [Message; 3] {
    let call = ToolCall {
        id: format!("call_{turn}"),
        name: "tool_1".into(),
        input: json!({ "path": "src/lib.rs", "text": "fn main() {}\n".repeat(20) }).to_string(),
        ..ToolCall::default()
    };
    let result = ToolResult {
        call_id: format!("call_{turn}"),
        name: "tool_1".into(),
        parts: vec![Part::text("a line of output, \"quoted\"\n".repeat(60))],
        ..ToolResult::default()
    };
    [
        Message::new(
            Role::User,
            vec![Part::text("Please go on with the next step.")],
        ),
        Message::new(
            Role::Assistant,
            vec![Part::text("I call a tool."), Part::ToolCall(call)],
        ),
        Message::new(Role::Tool, vec![Part::ToolResult(result)]),
    ]
}

/// Returns a response in small deltas, as models stream it.
fn events() -> Vec<ModelEvent> {
    let mut events = ModelResponse {
        id: "id".into(),
        model: "model".into(),
        parts: vec![Part::Reasoning(Reasoning {
            text: "hm".into(),
            signature: Some("c2ln".into()),
            ..Reasoning::default()
        })],
        ..ModelResponse::default()
    }
    .to_events();
    let delta = |n: usize| ModelEvent::TextDelta {
        text: format!(" word {n}"),
    };
    let end = events.split_off(events.len() - 1);
    events.extend((0..2_000).map(delta));
    events.extend(end);
    events
}

fn stream(dialect: Dialect) -> Vec<u8> {
    let mut encoder = StreamEncoder::new(dialect, ResponseStyle::new(dialect, 1));
    events()
        .iter()
        .flat_map(|event| encoder.push(event))
        .collect()
}

#[divan::bench(args = Dialect::ALL)]
fn request_parse(bencher: Bencher, dialect: Dialect) {
    let request = request();
    let body = dialect.render_request(&request);
    let route = Route::parse(&dialect.path(&request));
    bencher.counter(BytesCount::of_slice(&body)).bench(|| {
        route
            .as_ref()
            .map(|route| route.parse_request(black_box(&body)))
    });
}

#[divan::bench(args = Dialect::ALL)]
fn request_serde_value(bencher: Bencher, dialect: Dialect) {
    let body = dialect.render_request(&request());
    bencher
        .counter(BytesCount::of_slice(&body))
        .bench(|| serde_json::from_slice::<Value>(black_box(&body)));
}

#[divan::bench(args = Dialect::ALL)]
fn stream_parse(bencher: Bencher, dialect: Dialect) {
    let bytes = stream(dialect);
    bencher.counter(BytesCount::of_slice(&bytes)).bench(|| {
        let mut decoder = StreamDecoder::new(dialect);
        let mut count = 0;
        for chunk in black_box(&bytes).chunks(4096) {
            count += decoder.push(chunk).len();
        }
        count + decoder.finish().len()
    });
}

/// Parses the data of the same frames into a `Value` each: the lower bound for `stream_parse`.
#[divan::bench(args = Dialect::ALL)]
fn stream_serde_value(bencher: Bencher, dialect: Dialect) {
    let bytes = stream(dialect);
    let lines = bytes.split(|byte| *byte == b'\n');
    let frames: Vec<&[u8]> = lines
        .map(|line| line.strip_prefix(b"data: ").unwrap_or(line))
        .filter(|line| line.starts_with(b"{"))
        .collect();
    bencher.counter(BytesCount::of_slice(&bytes)).bench(|| {
        let values = frames
            .iter()
            .map(|frame| serde_json::from_slice::<Value>(black_box(frame)));
        values.filter(Result::is_ok).count()
    });
}

#[divan::bench(args = Dialect::ALL)]
fn stream_render(bencher: Bencher, dialect: Dialect) {
    let events = events();
    let size = stream(dialect).len();
    bencher.counter(BytesCount::new(size)).bench(|| {
        let mut encoder = StreamEncoder::new(dialect, ResponseStyle::new(dialect, 1));
        let sizes = black_box(&events)
            .iter()
            .map(|event| encoder.push(event).len());
        sizes.sum::<usize>()
    });
}
