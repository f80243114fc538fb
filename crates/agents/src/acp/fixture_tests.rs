//! Replays recorded output of real ACP agents.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{PromptResponse, RequestPermissionRequest};
use proptest::prelude::*;
use serde_json::Value;
use windlass_core::AgentEvent;

use super::outcome::{self, TurnSummary};
use super::preset;
use super::stdio::{IncomingMessage, classify};
use super::updates::UpdateParser;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/acp")
}

fn all() -> Vec<(String, String)> {
    let entries = |dir: &Path| -> Vec<String> {
        let names = std::fs::read_dir(dir).unwrap();
        let mut names: Vec<String> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let agents = entries(&fixtures());
    let files_of = |agent: String| {
        let files = entries(&fixtures().join(&agent));
        files.into_iter().map(move |file| (agent.clone(), file))
    };
    agents.into_iter().flat_map(files_of).collect()
}

/// Returns the events of a recording; each response to a prompt ends a turn.
fn replay(agent: &str, recording: &str) -> Vec<AgentEvent> {
    let quirks = &preset(agent).unwrap().quirks;
    let mut updates = UpdateParser::new(quirks);
    let mut events = Vec::new();
    for line in recording.lines() {
        match classify(line) {
            IncomingMessage::Update(update) => events.extend(updates.parse(update.update)),
            IncomingMessage::Request => {
                let message: Value = serde_json::from_str(line).unwrap_or_default();
                let request = message.get("params").cloned().unwrap_or_default();
                if let Ok(request) = serde_json::from_value::<RequestPermissionRequest>(request) {
                    events.extend(updates.on_permission_request(&request).0);
                }
            }
            IncomingMessage::Response => {
                let message: Value = serde_json::from_str(line).unwrap_or_default();
                let result = message.get("result").cloned().unwrap_or_default();
                let Ok(response) = serde_json::from_value::<PromptResponse>(result) else {
                    if let Some(code) = message["error"]["code"].as_i64() {
                        let text = message["error"]["message"].as_str().unwrap_or_default();
                        let data = message["error"].get("data");
                        let code = i32::try_from(code).unwrap_or_default();
                        events.push(outcome::error_event(code, text, data, &[]));
                    }
                    continue;
                };
                let counted = outcome::usage(&response, quirks);
                if quirks.errors_lack_message_id && counted.is_some() {
                    events.extend(updates.release_held_error());
                }
                events.extend(updates.flush_held_starts());
                let usage = counted.or_else(|| updates.chunk_usage.take());
                let summary = TurnSummary {
                    text: updates.take_answer(),
                    error_text: updates.error_text.take(),
                    stopped: false,
                    denied: None,
                    usage,
                    used_tool: updates.used_tool(),
                    context: updates.context,
                };
                events.push(outcome::terminal(&response, summary));
                updates = UpdateParser::new(quirks);
            }
            _ => {}
        }
    }
    events
}

fn read(agent: &str, file: &str) -> String {
    let file = std::fs::File::open(fixtures().join(agent).join(file)).unwrap();
    let mut text = String::new();
    file.take(16 << 20).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn p11_tools_start_before_they_end_in_every_recording() {
    let names = all();
    assert!(names.len() > 80, "only {} recordings", names.len());
    for (agent, file) in names {
        let mut open = BTreeSet::new();
        for event in replay(&agent, &read(&agent, &file)) {
            match event {
                AgentEvent::ToolStart { id, name, .. } => {
                    assert!(!name.is_empty(), "{agent} {file}");
                    assert!(
                        open.insert(id.clone()),
                        "{agent} {file}: {id} started twice"
                    );
                }
                AgentEvent::ToolEnd { id, .. } => {
                    assert!(open.remove(&id), "{agent} {file}: {id} was never started");
                }
                AgentEvent::ToolProgress { id, .. } => {
                    assert!(open.contains(&id), "{agent} {file}: {id} is not open");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn every_recorded_line_is_a_message() {
    for (agent, file) in all() {
        for line in read(&agent, &file).lines() {
            assert_ne!(
                classify(line),
                IncomingMessage::Invalid,
                "{agent} {file}: {line}"
            );
        }
    }
}

fn summarize(agent: &str, file: &str) -> Vec<String> {
    let events = replay(agent, &read(agent, file));
    let lines = events.iter().filter_map(|event| match event {
        AgentEvent::Text(_) | AgentEvent::Custom { .. } | AgentEvent::ToolProgress { .. } => None,
        AgentEvent::ToolStart { name, .. } => Some(format!("start {name}")),
        AgentEvent::ToolEnd { success, .. } => Some(format!("end {success}")),
        AgentEvent::Result { text, usage, .. } => {
            let tokens = usage
                .as_ref()
                .map(|usage| (usage.input_tokens, usage.output_tokens));
            Some(format!("RESULT {text:?} {tokens:?}"))
        }
        AgentEvent::Error { code, .. } => Some(format!("ERROR {code}")),
        AgentEvent::SessionInvalid { .. } => Some("INVALID".to_owned()),
        other => Some(format!("{other:?}")),
    });
    lines.collect()
}

#[test]
fn recorded_turns_produce_expected_events() {
    let check = |agent: &str, file: &str, expected: &[&str]| {
        assert_eq!(summarize(agent, file), expected, "{agent} {file}");
    };
    let done = "RESULT \"Done: the tool ran and I am finished.\"";
    let counted = format!("{done} Some((400, 68))");
    let claude = ["start Write", "end true", &counted];
    check("claude-agent-acp", "tool.jsonl", &[claude, claude].concat());
    check(
        "codex-acp",
        "shell-full.jsonl",
        &["start exec_command", "end true", &counted],
    );
    check("codex-acp", "err429.jsonl", &["ERROR RateLimited"]);
    check("codex-acp", "err401.jsonl", &["ERROR AuthFailed"]);
    check("copilot", "err401.jsonl", &["ERROR AuthFailed"]);
    check("gemini", "err401.jsonl", &["ERROR AuthFailed"]);
    check("opencode", "err401.jsonl", &["ERROR AuthFailed"]);
    let last_step = format!("{done} Some((200, 26))");
    let opencode = ["start edit", "end true", &last_step];
    check("opencode", "tool.jsonl", &[opencode, opencode].concat());
    check("codex-acp", "badload.jsonl", &["INVALID", "INVALID"]);
    check("claude-agent-acp", "badload.jsonl", &["INVALID", "INVALID"]);
}

proptest! {
    #[test]
    fn p12_corrupted_lines_do_not_panic(
        which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), with in ".{0,12}",
    ) {
        let names = all();
        let (agent, file) = which.get(&names);
        let mut text = read(agent, file);
        let at = text.floor_char_boundary(at.index(text.len()));
        let end = text.floor_char_boundary((at + with.len()).min(text.len()));
        text.replace_range(at..end, &with);
        replay(agent, &text);
    }
}
