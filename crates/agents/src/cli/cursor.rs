//! Cursor's agent: one process per turn, stream-json.
//!
//! Written from the documented formats: the program is in no package registry, so it is not tested against a
//! real one.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use windlass_core::{AgentEvent, AgentHandle, Capabilities, PermissionPolicy, Result, Usage};

use super::{
    CliProfile, IoMode, Parsed, Parser, RunContext, SessionNaming, SessionStart, Transport,
};
use crate::AgentContext;
use crate::program::{CommandLine, ProcessEnd, Version, failure, known};

/// Maximum size of the stored lines that are not JSON, in bytes: Cursor prints the reason of a failure this way.
const MAX_PLAIN_BYTES: usize = 4096;

/// The profile of Cursor.
pub const PROFILE: CliProfile = CliProfile {
    program: &known::cursor::PROGRAM,
    transports: &[Transport {
        name: "stream-json",
        since: Version(0, 0, 0),
        takes_profile: false,
        capabilities: Capabilities {
            streaming: true,
            load_session: true,
            tools: true,
            permissions: false,
            native_schema: false,
            mcp: false,
            model_choice: true,
            usage: true,
            cost: false,
        },
        naming: SessionNaming::InFirstTurn,
        command,
        temp_files: &[],
        io: IoMode::OneShot(|_| Box::new(CursorParser::default())),
    }],
    default_model: Some(known::cursor::MODEL),
};

/// Returns a factory that creates Cursor agents from their configuration.
pub fn factory(
    context: AgentContext,
) -> impl Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static {
    super::factory(&PROFILE, context)
}

fn command(run: &RunContext<'_>) -> CommandLine {
    let mut command = CommandLine::new(["-p", "--stream-partial-output", "--trust"]);
    command.option("output-format", "stream-json");
    if run.permissions == PermissionPolicy::Allow {
        command.arg("--force");
    }
    if let Some(model) = run.model {
        command.option("model", model);
    }
    if let SessionStart::Resume(id) | SessionStart::Named(id) = run.start {
        command.option("resume", id);
    }
    command
}

/// Parses the lines of one run.
#[derive(Debug, Default)]
pub struct CursorParser {
    plain_lines: String,
    /// Whether the text arrives in chunks.
    chunked: bool,
}

#[derive(Deserialize)]
struct CursorLine<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    subtype: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    session_id: Option<BorrowedText<'a>>,
    message: Option<Message>,
    text: Option<String>,
    call_id: Option<String>,
    tool_call: Option<Map<String, Value>>,
    timestamp_ms: Option<IgnoredAny>,
    model_call_id: Option<IgnoredAny>,
    #[serde(default)]
    is_error: bool,
    result: Option<String>,
    duration_ms: Option<u64>,
    usage: Option<Tokens>,
}

/// A text without a copy, unless it has escapes. An `Option<Cow<str>>` would always be a copy.
#[derive(Deserialize)]
struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Vec<Block>,
}

#[derive(Deserialize)]
struct Block {
    text: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

impl Parser for CursorParser {
    fn parse_line(&mut self, line: &str) -> Parsed {
        let Ok(parsed) = serde_json::from_str::<CursorLine<'_>>(line) else {
            if self.plain_lines.len() < MAX_PLAIN_BYTES && !line.starts_with('{') {
                self.plain_lines.push_str(line.trim());
                self.plain_lines.push('\n');
            }
            return Parsed::unparsed(line);
        };
        match (&*parsed.kind, parsed.subtype()) {
            ("system", Some("init")) => Parsed {
                session: parsed.session_id.map(|id| id.0.into_owned()),
                ..Parsed::default()
            },
            ("user", _) => Parsed::default(),
            ("thinking", Some("delta")) => Parsed::events(parsed.text.map(AgentEvent::Thought)),
            ("thinking", _) => Parsed::default(),
            ("assistant", _) => self.assistant(parsed),
            ("tool_call", Some("started" | "completed")) => tool(parsed, line),
            ("result", _) => Parsed::event(result_event(parsed)),
            _ => Parsed::unparsed(line),
        }
    }

    fn finish(&mut self, ended: &ProcessEnd<'_>) -> AgentEvent {
        let message = Some(self.plain_lines.as_str()).filter(|_| ended.stderr.trim().is_empty());
        failure::no_result_error("cursor", message, ended)
    }
}

impl CursorLine<'_> {
    fn subtype(&self) -> Option<&str> {
        self.subtype.as_ref().map(|subtype| &*subtype.0)
    }
}

impl CursorParser {
    /// Chunks of text have a timestamp. If there are any, a line without one, or with a call ID, repeats their
    /// text.
    fn assistant(&mut self, line: CursorLine<'_>) -> Parsed {
        let is_chunk = line.timestamp_ms.is_some() && line.model_call_id.is_none();
        let is_new = is_chunk || !self.chunked;
        self.chunked |= is_chunk;
        let blocks = line
            .message
            .map(|message| message.content)
            .unwrap_or_default();
        let texts = blocks.into_iter().filter_map(|block| block.text);
        Parsed::events(texts.filter(|_| is_new).map(AgentEvent::Text))
    }
}

/// Parses a tool call. The key is the tool's name; there may be other keys.
fn tool(line: CursorLine<'_>, raw: &str) -> Parsed {
    let started = line.subtype() == Some("started");
    let (Some(id), Some(call)) = (line.call_id, line.tool_call) else {
        return Parsed::unparsed(raw);
    };
    let named = call
        .into_iter()
        .find(|(key, _)| key.ends_with("ToolCall") || key == "function");
    let Some((key, mut body)) = named else {
        return Parsed::unparsed(raw);
    };
    let name = match body.get("name").and_then(Value::as_str) {
        Some(name) => name.to_owned(),
        None => key.trim_end_matches("ToolCall").to_owned(),
    };
    if started {
        let key = if body.get("args").is_some() {
            "args"
        } else {
            "arguments"
        };
        let input = body.get_mut(key);
        return Parsed::event(AgentEvent::ToolStart {
            id,
            name,
            input: input.map(Value::take).unwrap_or_default(),
        });
    }
    let result = body.get_mut("result").map(Value::take).unwrap_or_default();
    let (outcome, output) = match result {
        Value::Object(result) => result.into_iter().next().unwrap_or_default(),
        other => ("success".to_owned(), other),
    };
    let code = output.get("exitCode").and_then(Value::as_i64);
    Parsed::event(AgentEvent::ToolEnd {
        id,
        name,
        success: outcome == "success" && code.is_none_or(|code| code == 0),
        output: match outcome.as_str() {
            "rejected" => json!({ "error": "permission denied", "details": output }),
            _ => output,
        },
        duration_ms: 0,
    })
}

fn result_event(line: CursorLine<'_>) -> AgentEvent {
    let failed = line.is_error || line.subtype() != Some("success");
    let text = line.result.unwrap_or_default();
    if failed {
        return failure::error_event(None, &text);
    }
    AgentEvent::Result {
        text,
        usage: line.usage.map(|tokens| Usage {
            input_tokens: tokens.input_tokens,
            output_tokens: tokens.output_tokens,
            cache_read_tokens: tokens.cache_read_tokens,
            cache_write_tokens: tokens.cache_write_tokens,
            ..Usage::default()
        }),
        metadata: json!({ "duration_ms": line.duration_ms }),
    }
}
