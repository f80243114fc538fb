//! Feeds recordings to the matching parser.

use std::path::{Path, PathBuf};

use expect_test::Expect;
use serde_json::Value;
use windlass_agents::cli::claude::{ControlSession, StreamJson};
use windlass_agents::cli::codex::{AppServer, ExecParser};
use windlass_agents::cli::cursor::CursorParser;
use windlass_agents::cli::{
    InteractiveParser, Parsed, Parser, ProcessEnd, RunContext, RunningTotal, SessionStart,
    TurnRequest,
};
use windlass_agents::{ProgramSettings, Version};
use windlass_core::{DirAccess, PermissionPolicy};
use windlass_sandbox::Mechanism;

use super::render;

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Returns the names of all recordings, as `agent/case.ext`.
pub(crate) fn fixture_names() -> Vec<String> {
    let mut names = Vec::new();
    for agent in ["claude", "codex", "cursor", "qwen"] {
        for entry in std::fs::read_dir(fixtures().join(agent)).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            if !file.ends_with(".stderr.txt") && file != "exit-codes.txt" {
                names.push(format!("{agent}/{file}"));
            }
        }
    }
    names.sort();
    names
}

/// Parses a recording line by line, up to its end.
pub(crate) fn parse_fixture(name: &str) -> Vec<Parsed> {
    let text = std::fs::read_to_string(fixtures().join(name)).unwrap();
    match name.split_once('/').unwrap() {
        ("codex", file) if file.starts_with("appserver-") => {
            replay_interactive(&mut app_server(PermissionPolicy::Allow), &text)
        }
        ("claude", file) if file.starts_with("stdio-") => replay_interactive(
            &mut ControlSession::new(PermissionPolicy::Allow, zero_total()),
            &text,
        ),
        // The counts of a resumed thread continue those of the first run.
        ("codex", "resume.jsonl") => {
            let before = parse_fixture("codex/text.jsonl")
                .iter()
                .find_map(|parsed| parsed.total);
            parse_lines(&mut ExecParser::new(2, before), &text, name)
        }
        ("codex", _) => parse_lines(&mut ExecParser::new(1, zero_total()), &text, name),
        ("claude", _) => parse_lines(&mut StreamJson::claude(zero_total()), &text, name),
        ("qwen", _) => parse_lines(&mut StreamJson::qwen(zero_total()), &text, name),
        ("cursor", _) => parse_lines(&mut CursorParser::default(), &text, name),
        _ => panic!("{name}: no parser"),
    }
}

pub(crate) fn zero_total() -> Option<RunningTotal> {
    Some(RunningTotal::default())
}

/// Returns the client of an app server in a new session.
pub(crate) fn app_server(permissions: PermissionPolicy) -> AppServer {
    AppServer::new(&RunContext {
        settings: &ProgramSettings::default(),
        version: Version(0, 166, 0),
        mechanism: Mechanism::Bubblewrap,
        cwd: Path::new("/workspace"),
        access: DirAccess::Files,
        readable: &[],
        instructions: None,
        model: None,
        permissions,
        rules: &[],
        mcp_servers: &[],
        servers_file: None,
        schema: None,
        schema_file: None,
        start: SessionStart::Fresh,
        turn: 1,
        before: zero_total(),
    })
}

#[track_caller]
pub(crate) fn check(name: &str, expected: Expect) {
    let lines: Vec<String> = parse_fixture(name)
        .iter()
        .flat_map(render::parsed)
        .collect();
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

/// Parses all lines. If they contain no terminal event, the end of the process provides it.
fn parse_lines(parser: &mut impl Parser, text: &str, name: &str) -> Vec<Parsed> {
    let mut all: Vec<Parsed> = text.lines().map(|line| parser.parse_line(line)).collect();
    if !all.iter().any(has_terminal_event) {
        let stderr = name.rsplit_once('.').unwrap().0.to_owned() + ".stderr.txt";
        let stderr = std::fs::read_to_string(fixtures().join(stderr)).unwrap_or_default();
        let ended = ProcessEnd {
            code: exit_code(name),
            stderr: &stderr,
        };
        all.push(Parsed::event(parser.finish(&ended)));
    }
    all
}

/// Replays a recording of both directions: sends the requests of the recorded client; the parser answers on its own.
fn replay_interactive(parser: &mut impl InteractiveParser, text: &str) -> Vec<Parsed> {
    let mut all = vec![sent(parser.on_start())];
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let message = &line["msg"];
        match line["dir"].as_str().unwrap() {
            "agent->client" => all.push(parser.parse_line(&message.to_string())),
            "client->agent" => {
                let is_turn = message["method"] == "turn/start" || message["type"] == "user";
                let is_stop = message["method"] == "turn/interrupt"
                    || message["request"]["subtype"] == "interrupt";
                if is_turn {
                    let prompt = "Create hello.txt".to_owned();
                    all.push(sent(parser.start_turn(TurnRequest {
                        prompt,
                        schema: None,
                    })));
                } else if is_stop {
                    all.push(sent(parser.interrupt()));
                }
            }
            _ => {}
        }
    }
    all
}

fn sent(replies: Vec<String>) -> Parsed {
    Parsed {
        replies,
        ..Parsed::default()
    }
}

pub(crate) fn has_terminal_event(parsed: &Parsed) -> bool {
    parsed.events.iter().any(|event| event.is_terminal())
}

fn exit_code(name: &str) -> i32 {
    let (agent, file) = name.split_once('/').unwrap();
    let codes = std::fs::read_to_string(fixtures().join(agent).join("exit-codes.txt")).unwrap();
    let line = codes
        .lines()
        .find_map(|line| line.strip_prefix(file)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} has no exit code"))
        .parse()
        .unwrap()
}
