//! Recordings, played to the parser that they are for.

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
use windlass_core::PermissionPolicy;
use windlass_sandbox::Mechanism;

use super::shown;

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Every recording there is, as `agent/case.ext`.
pub(crate) fn all() -> Vec<String> {
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

/// What a recording means, line by line, and how it ends.
pub(crate) fn play(name: &str) -> Vec<Parsed> {
    let text = std::fs::read_to_string(fixtures().join(name)).unwrap();
    match name.split_once('/').unwrap() {
        ("codex", file) if file.starts_with("appserver-") => {
            talk(&mut app_server(PermissionPolicy::Allow), &text)
        }
        ("claude", file) if file.starts_with("stdio-") => talk(
            &mut ControlSession::new(PermissionPolicy::Allow, fresh()),
            &text,
        ),
        // The counts of a thread that is taken up begin where the first run's ended.
        ("codex", "resume.jsonl") => {
            let before = play("codex/text.jsonl")
                .iter()
                .find_map(|heard| heard.total);
            listen(&mut ExecParser::new(2, before), &text, name)
        }
        ("codex", _) => listen(&mut ExecParser::new(1, fresh()), &text, name),
        ("claude", _) => listen(&mut StreamJson::claude(fresh()), &text, name),
        ("qwen", _) => listen(&mut StreamJson::qwen(fresh()), &text, name),
        ("cursor", _) => listen(&mut CursorParser::default(), &text, name),
        _ => panic!("{name}: no parser"),
    }
}

pub(crate) fn fresh() -> Option<RunningTotal> {
    Some(RunningTotal::default())
}

/// The other side of an app server in a session that is new.
pub(crate) fn app_server(permissions: PermissionPolicy) -> AppServer {
    AppServer::new(&RunContext {
        settings: &ProgramSettings::default(),
        version: Version(0, 166, 0),
        walls: Mechanism::Bubblewrap,
        cwd: Path::new("/workspace"),
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
        before: fresh(),
    })
}

#[track_caller]
pub(crate) fn check(name: &str, expected: Expect) {
    let lines: Vec<String> = play(name).iter().flat_map(shown::heard).collect();
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

/// Lines to the last one or to the end of the turn; without an end, the end of the process is one.
fn listen(parser: &mut impl Parser, text: &str, name: &str) -> Vec<Parsed> {
    let mut all: Vec<Parsed> = text.lines().map(|line| parser.parse_line(line)).collect();
    if !all.iter().any(has_end) {
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

/// Both directions: what the recording's client asked, ours asks too; what it answered, ours answers by itself.
fn talk(dialog: &mut impl InteractiveParser, text: &str) -> Vec<Parsed> {
    let mut all = vec![sent(dialog.on_start())];
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let message = &line["msg"];
        match line["dir"].as_str().unwrap() {
            "agent->client" => all.push(dialog.parse_line(&message.to_string())),
            "client->agent" => {
                let is_turn = message["method"] == "turn/start" || message["type"] == "user";
                let is_stop = message["method"] == "turn/interrupt"
                    || message["request"]["subtype"] == "interrupt";
                if is_turn {
                    let prompt = "Create hello.txt".to_owned();
                    all.push(sent(dialog.start_turn(TurnRequest {
                        prompt,
                        schema: None,
                    })));
                } else if is_stop {
                    all.push(sent(dialog.interrupt()));
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

pub(crate) fn has_end(heard: &Parsed) -> bool {
    heard.events.iter().any(|event| event.is_terminal())
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
