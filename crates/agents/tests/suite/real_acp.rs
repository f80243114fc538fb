//! The real ACP agents, each with a scripted model. All tests are in the full tier.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_agents::{AgentContext, acp};
use windlass_core::structured::{self, CallOptions};
use windlass_core::{
    AgentEvent, AgentHandle, ErrorCode, SchemaMode, SessionId, SessionOptions, StructuredAgentTask,
    TurnLimits,
};
use windlass_scripted::{RunningModel, Script, ScriptedModel};

use super::harness::{Harness, KEY, programs, turn};
use super::render;

/// A real agent under test, in its own harness, with a scripted model.
pub(crate) struct Subject {
    pub(crate) harness: Harness,
    pub(crate) model: RunningModel,
    context: AgentContext,
    agent: &'static str,
}

/// Returns the tier that installs the program of a preset.
pub(crate) fn tier(agent: &str) -> &'static str {
    match agent {
        "claude-agent-acp" | "codex-acp" => "agents-acp",
        "auggie" | "cline" => "agents-more",
        _ => "agents-full",
    }
}

impl Subject {
    pub(crate) async fn new(agent: &'static str, script: Value) -> Self {
        let harness = Harness::new();
        let script = Script::parse(&script.to_string(), "test").unwrap();
        let listen = "127.0.0.1:0".parse().unwrap();
        Self {
            model: ScriptedModel::start(script, listen).await.unwrap(),
            context: harness.context(&[programs(tier(agent))]).await,
            harness,
            agent,
        }
    }

    pub(crate) fn config(&self, permissions: &str) -> Value {
        let model = match self.agent {
            "codex-acp" => Some("gpt-5.5"),
            "gemini" => Some("gemini-2.5-pro"),
            "qwen" => Some("qwen3-coder-plus"),
            "copilot" | "opencode" => Some("scripted"),
            _ => None,
        };
        json!({
            "endpoint": self.model.url(),
            "api_key_env": "TEST_KEY",
            "permissions": permissions,
            "model": model,
        })
    }

    pub(crate) fn handle(&self, permissions: &str) -> AgentHandle {
        let make = acp::factory(acp::preset(self.agent), self.context.clone());
        make(&self.config(permissions)).unwrap()
    }

    fn options(&self) -> SessionOptions {
        SessionOptions::in_dir(self.harness.work())
    }

    async fn ask(&self, permissions: &str) -> Vec<AgentEvent> {
        let handle = self.handle(permissions);
        let mut session = handle.new_session(self.options()).await.unwrap();
        turn(&handle, &mut session, "Do as agreed").await
    }
}

/// Returns a script that answers_prompt every request with this text, including the agent's side calls.
fn always(text: &str) -> Value {
    json!({ "turns": [{ "answer": [{ "text": text }], "or_more": true }] })
}

fn render_all(events: &[AgentEvent]) -> String {
    let shown: Vec<String> = events.iter().map(render::event).collect();
    shown.join("\n")
}

fn streamed_text(events: &[AgentEvent]) -> String {
    let chunks = events.iter().filter_map(|event| match event {
        AgentEvent::Text(text) => Some(text.as_str()),
        _ => None,
    });
    chunks.collect()
}

fn error(events: &[AgentEvent]) -> ErrorCode {
    match events.last().unwrap() {
        AgentEvent::Error { code, .. } => *code,
        _ => panic!("no error:\n{}", render_all(events)),
    }
}

#[track_caller]
fn is_result(events: &[AgentEvent]) {
    let last = events.last().unwrap();
    assert!(
        matches!(last, AgentEvent::Result { .. }),
        "{}",
        render_all(events)
    );
}

async fn answers_prompt(agent: &'static str) {
    let subject = Subject::new(agent, always("Pong it is.")).await;
    let events = subject.ask("deny").await;
    assert_eq!(
        streamed_text(&events).trim(),
        "Pong it is.",
        "{}",
        render_all(&events)
    );
    is_result(&events);
    assert!(
        !format!("{events:?}").contains(KEY),
        "the key is in an event"
    );
    if let Some(AgentEvent::Result { usage, .. }) = events.last() {
        println!("{agent}: usage {}", serde_json::to_string(usage).unwrap());
    }
}

async fn edits_file(agent: &'static str) {
    let edit = json!({ "edit_file": { "path": "notes.txt", "old": "two", "new": "three" } });
    let read = json!({ "read_file": { "path": "notes.txt" } });
    let done = json!({ "answer": [{ "text": "Done." }], "or_more": true });
    let turns = json!({ "turns": [{ "answer": [read] }, { "answer": [edit] }, done] });
    let subject = Subject::new(agent, turns).await;
    let events = subject.ask("allow").await;
    is_result(&events);
    assert_eq!(
        subject.harness.read("notes.txt"),
        "one\nthree\n",
        "{}",
        render_all(&events)
    );
    let starts = events
        .iter()
        .filter(|event| matches!(event, AgentEvent::ToolStart { .. }));
    let ends = events
        .iter()
        .filter(|event| matches!(event, AgentEvent::ToolEnd { success: true, .. }));
    let (starts, ends) = (starts.count(), ends.count());
    assert!(starts >= 1 && ends >= 1, "{}", render_all(&events));
}

async fn denied_write_changes_nothing(agent: &'static str) {
    let write = json!({ "write_file": { "path": "new.txt", "content": "no\n" } });
    let could_not = json!({ "answer": [{ "text": "I could not." }], "or_more": true });
    let subject = Subject::new(
        agent,
        json!({ "turns": [{ "answer": [write] }, could_not] }),
    )
    .await;
    let events = subject.ask("deny").await;
    assert!(
        !subject.harness.work().join("new.txt").exists(),
        "{}",
        render_all(&events)
    );
    println!("{agent}: denied, {}", render::event(events.last().unwrap()));
}

async fn answer_matches_schema(agent: &'static str) {
    let subject = Subject::new(agent, always("{\"verdict\": \"pass\"}")).await;
    let schema = json!({
        "type": "object", "properties": { "verdict": { "type": "string" } },
        "required": ["verdict"], "additionalProperties": false,
    });
    let task = StructuredAgentTask {
        name: "verdict".to_owned(),
        prompt: "Judge it".to_owned(),
        schema: Some(schema),
        schema_mode: SchemaMode::Prompt,
    };
    let options = CallOptions {
        session: subject.options(),
        ..CallOptions::default()
    };
    let answer = structured::call(&subject.handle("deny"), None, task, options).await;
    assert_eq!(answer.unwrap().value, json!({ "verdict": "pass" }));
}

async fn resumes_session(agent: &'static str) {
    // Only a resumed conversation has a third turn.
    let third =
        json!({ "when": { "turn": 3 }, "answer": [{ "text": "I remember." }], "or_more": true });
    let aye = json!({ "answer": [{ "text": "Aye." }], "or_more": true });
    let subject = Subject::new(agent, json!({ "turns": [third, aye] })).await;
    let handle = subject.handle("deny");
    let mut session = handle.new_session(subject.options()).await.unwrap();
    is_result(&turn(&handle, &mut session, "Remember the halyard").await);
    is_result(&turn(&handle, &mut session, "Go on").await);
    drop(handle);
    let another = subject.handle("deny");
    for _ in 0..70 {
        match another.load_session(&session, subject.options()).await {
            Ok(()) => break,
            // Gemini cannot resume a session within the minute it was created.
            Err(error) if error.to_string().contains("try again in") => {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
    let events = turn(&another, &mut session, "Say it again").await;
    is_result(&events);
    assert_eq!(
        streamed_text(&events).trim(),
        "I remember.",
        "{}",
        render_all(&events)
    );
}

async fn unknown_session_is_rejected(agent: &'static str) {
    let subject = Subject::new(agent, always("Who?")).await;
    let handle = subject.handle("deny");
    let unknown = match agent {
        "opencode" => SessionId::from("ses_e231b6c81ffegBHHpmYrjtR2TQ"),
        _ => SessionId::from("01a1dcd0-0000-4000-8000-000000000000"),
    };
    let error = handle
        .load_session(&unknown, subject.options())
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::SessionOrphaned, "{error}");
}

/// Runs a turn against a model that rejects every request with this status, and prints the outcome as a table row.
async fn run_rejected(agent: &'static str, status: u16) -> Vec<AgentEvent> {
    let rejection = json!({ "fault": { "status": { "code": status } }, "or_more": true });
    let subject = Subject::new(agent, json!({ "turns": [rejection] })).await;
    let handle = subject.handle("deny");
    let limits = TurnLimits {
        deadline: Duration::from_secs(60),
        ..handle.limits()
    };
    let handle = { handle }.with_limits(limits);
    let mut session = handle.new_session(subject.options()).await.unwrap();
    let events = turn(&handle, &mut session, "Do as agreed").await;
    assert_eq!(streamed_text(&events), "", "an error is not an answer");
    let shown = render::event(events.last().unwrap());
    println!(
        "| {agent} | {status} | {shown} | {} requests |",
        subject.model.requests().len()
    );
    events
}

async fn status_401_is_auth_failure(agent: &'static str) {
    let events = run_rejected(agent, 401).await;
    assert!(
        matches!(error(&events), ErrorCode::AuthFailed | ErrorCode::Timeout),
        "{}",
        render_all(&events)
    );
}

async fn status_429_is_rate_limit(agent: &'static str) {
    let events = run_rejected(agent, 429).await;
    assert!(
        matches!(error(&events), ErrorCode::RateLimited | ErrorCode::Timeout),
        "{}",
        render_all(&events)
    );
}

async fn p5_hanging_model_hits_the_deadline(agent: &'static str) {
    let turns = json!({ "turns": [{ "fault": "hang", "or_more": true }] });
    let subject = Subject::new(agent, turns).await;
    let handle = subject.handle("deny");
    let limits = TurnLimits {
        deadline: Duration::from_secs(6),
        ..handle.limits()
    };
    let handle = { handle }.with_limits(limits);
    let mut session = handle.new_session(subject.options()).await.unwrap();
    let events = turn(&handle, &mut session, "Go on").await;
    assert_eq!(
        error(&events),
        ErrorCode::Timeout,
        "{}",
        render_all(&events)
    );
    drop(handle);
    assert!(
        subject.harness.wait_for_exit().await,
        "{:?}",
        subject.harness.processes()
    );
}

/// Returns a script whose tool call never ends.
pub(crate) fn endless() -> Value {
    let shell = json!({ "shell": { "command": "tail -f notes.txt" } });
    json!({ "turns": [{ "answer": [shell] }, { "answer": [{ "text": "Stopped." }], "or_more": true }] })
}

async fn p5_cancel_kills_a_running_tool(agent: &'static str) {
    let subject = Subject::new(agent, endless()).await;
    let handle = subject.handle("allow");
    let session = handle.new_session(subject.options()).await.unwrap();
    let mut events = handle.prompt(&session, "Watch it").await.unwrap();
    let mut seen = Vec::new();
    while let Some(event) = events.recv().await {
        if matches!(event, AgentEvent::ToolStart { .. }) {
            handle.cancel(&session).await.unwrap();
        }
        seen.push(event);
    }
    assert_eq!(error(&seen), ErrorCode::Cancelled, "{}", render_all(&seen));
    drop(handle);
    assert!(
        subject.harness.wait_for_exit().await,
        "{:?}",
        subject.harness.processes()
    );
}

async fn killed_idle_process_is_restarted(agent: &'static str) {
    let subject = Subject::new(agent, always("Aye.")).await;
    let handle = subject.handle("deny");
    let mut session = handle.new_session(subject.options()).await.unwrap();
    is_result(&turn(&handle, &mut session, "Go on").await);
    let waiting = subject.harness.processes();
    assert!(!waiting.is_empty(), "no idle process");
    for pid in waiting {
        let _ = std::process::Command::new("kill")
            .args(["-9", &pid.to_string()])
            .status();
    }
    is_result(&turn(&handle, &mut session, "Go on").await);
}

/// Defines a test of each case for one agent.
macro_rules! on {
    ($module:ident, $agent:literal: $($case:ident),+ $(,)?) => {
        mod $module {
            $(#[tokio::test]
            #[ignore = "full: starts a real agent that speaks ACP"]
            async fn $case() {
                super::$case($agent).await;
            })+
        }
    };
}

on!(real_claude_agent_acp, "claude-agent-acp":
    answers_prompt, edits_file, denied_write_changes_nothing, answer_matches_schema, resumes_session,
    unknown_session_is_rejected, status_401_is_auth_failure, status_429_is_rate_limit,
    p5_hanging_model_hits_the_deadline, p5_cancel_kills_a_running_tool, killed_idle_process_is_restarted);
on!(real_codex_acp, "codex-acp":
    answers_prompt, edits_file, denied_write_changes_nothing, answer_matches_schema, resumes_session,
    unknown_session_is_rejected, status_401_is_auth_failure, status_429_is_rate_limit,
    p5_hanging_model_hits_the_deadline, p5_cancel_kills_a_running_tool, killed_idle_process_is_restarted);
on!(real_gemini, "gemini":
    answers_prompt, edits_file, denied_write_changes_nothing, answer_matches_schema, resumes_session,
    unknown_session_is_rejected, status_401_is_auth_failure, status_429_is_rate_limit,
    p5_hanging_model_hits_the_deadline, p5_cancel_kills_a_running_tool);
on!(real_opencode, "opencode":
    answers_prompt, edits_file, denied_write_changes_nothing, answer_matches_schema, resumes_session,
    unknown_session_is_rejected, status_401_is_auth_failure, status_429_is_rate_limit,
    p5_hanging_model_hits_the_deadline, p5_cancel_kills_a_running_tool, killed_idle_process_is_restarted);
on!(real_qwen_acp, "qwen":
    answers_prompt, edits_file, denied_write_changes_nothing, answer_matches_schema, resumes_session,
    unknown_session_is_rejected, status_401_is_auth_failure, status_429_is_rate_limit,
    p5_hanging_model_hits_the_deadline, p5_cancel_kills_a_running_tool);
on!(real_copilot, "copilot":
    answers_prompt, edits_file, denied_write_changes_nothing, answer_matches_schema, resumes_session,
    unknown_session_is_rejected, status_401_is_auth_failure, status_429_is_rate_limit,
    p5_hanging_model_hits_the_deadline, p5_cancel_kills_a_running_tool);
