//! The real agents that speak ACP, each against a scripted model. All of it is for the full tier.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_agents::{AgentContext, acp};
use windlass_core::structured::{self, CallOptions};
use windlass_core::{
    AgentEvent, AgentHandle, ErrorCode, SchemaMode, SessionId, SessionOptions, StructuredAgentTask,
    TurnLimits,
};
use windlass_gateway::{RunningModel, Script, ScriptedModel};

use super::shown;
use super::world::{KEY, World, programs, turn};

/// A real agent in a world of its own, with a model that says what a script says.
pub(crate) struct Subject {
    pub(crate) world: World,
    pub(crate) model: RunningModel,
    context: AgentContext,
    agent: &'static str,
}

/// Where the program of a preset is.
pub(crate) fn tier(agent: &str) -> &'static str {
    match agent {
        "claude-agent-acp" | "codex-acp" => "agents-acp",
        _ => "agents-full",
    }
}

impl Subject {
    pub(crate) async fn new(agent: &'static str, script: Value) -> Self {
        let world = World::new();
        let script = Script::parse(&script.to_string(), "test").unwrap();
        let listen = "127.0.0.1:0".parse().unwrap();
        Self {
            model: ScriptedModel::start(script, listen).await.unwrap(),
            context: world.context(&[programs(tier(agent))]).await,
            world,
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
        SessionOptions::in_dir(self.world.work())
    }

    async fn ask(&self, permissions: &str) -> Vec<AgentEvent> {
        let handle = self.handle(permissions);
        let mut session = handle.new_session(self.options()).await.unwrap();
        turn(&handle, &mut session, "Do as agreed").await
    }
}

/// The answer to the prompt, and to whatever else an agent asks its model.
fn always(words: &str) -> Value {
    json!({ "turns": [{ "answer": [{ "text": words }], "or_more": true }] })
}

fn story(events: &[AgentEvent]) -> String {
    let shown: Vec<String> = events.iter().map(shown::event).collect();
    shown.join("\n")
}

fn said(events: &[AgentEvent]) -> String {
    let pieces = events.iter().filter_map(|event| match event {
        AgentEvent::Text(text) => Some(text.as_str()),
        _ => None,
    });
    pieces.collect()
}

fn error(events: &[AgentEvent]) -> ErrorCode {
    match events.last().unwrap() {
        AgentEvent::Error { code, .. } => *code,
        _ => panic!("no error:\n{}", story(events)),
    }
}

#[track_caller]
fn is_result(events: &[AgentEvent]) {
    let last = events.last().unwrap();
    assert!(
        matches!(last, AgentEvent::Result { .. }),
        "{}",
        story(events)
    );
}

async fn answers(agent: &'static str) {
    let subject = Subject::new(agent, always("Pong it is.")).await;
    let events = subject.ask("deny").await;
    assert_eq!(said(&events).trim(), "Pong it is.", "{}", story(&events));
    is_result(&events);
    assert!(
        !format!("{events:?}").contains(KEY),
        "the key is in an event"
    );
    if let Some(AgentEvent::Result { usage, .. }) = events.last() {
        println!("{agent}: usage {}", serde_json::to_string(usage).unwrap());
    }
}

async fn edits_a_file(agent: &'static str) {
    let edit = json!({ "edit_file": { "path": "notes.txt", "old": "two", "new": "three" } });
    let read = json!({ "read_file": { "path": "notes.txt" } });
    let done = json!({ "answer": [{ "text": "Done." }], "or_more": true });
    let turns = json!({ "turns": [{ "answer": [read] }, { "answer": [edit] }, done] });
    let subject = Subject::new(agent, turns).await;
    let events = subject.ask("allow").await;
    is_result(&events);
    assert_eq!(
        subject.world.read("notes.txt"),
        "one\nthree\n",
        "{}",
        story(&events)
    );
    let starts = events
        .iter()
        .filter(|event| matches!(event, AgentEvent::ToolStart { .. }));
    let ends = events
        .iter()
        .filter(|event| matches!(event, AgentEvent::ToolEnd { success: true, .. }));
    let (starts, ends) = (starts.count(), ends.count());
    assert!(starts >= 1 && ends >= 1, "{}", story(&events));
}

async fn is_kept_from_writing(agent: &'static str) {
    let write = json!({ "write_file": { "path": "new.txt", "content": "no\n" } });
    let could_not = json!({ "answer": [{ "text": "I could not." }], "or_more": true });
    let subject = Subject::new(
        agent,
        json!({ "turns": [{ "answer": [write] }, could_not] }),
    )
    .await;
    let events = subject.ask("deny").await;
    assert!(
        !subject.world.work().join("new.txt").exists(),
        "{}",
        story(&events)
    );
    println!("{agent}: denied, {}", shown::event(events.last().unwrap()));
}

async fn fits_a_schema(agent: &'static str) {
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

async fn takes_a_session_up(agent: &'static str) {
    // Only a conversation that goes on has a third turn.
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
            // Gemini: not in the minute in which the session began.
            Err(error) if error.to_string().contains("try again in") => {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
    let events = turn(&another, &mut session, "Say it again").await;
    is_result(&events);
    assert_eq!(said(&events).trim(), "I remember.", "{}", story(&events));
}

async fn does_not_know_a_session(agent: &'static str) {
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

/// What becomes of a refusal within the time; the table in the README says it.
async fn refused(agent: &'static str, status: u16) -> Vec<AgentEvent> {
    let refusal = json!({ "fault": { "status": { "code": status } }, "or_more": true });
    let subject = Subject::new(agent, json!({ "turns": [refusal] })).await;
    let handle = subject.handle("deny");
    let limits = TurnLimits {
        deadline: Duration::from_secs(60),
        ..handle.limits()
    };
    let handle = { handle }.with_limits(limits);
    let mut session = handle.new_session(subject.options()).await.unwrap();
    let events = turn(&handle, &mut session, "Do as agreed").await;
    assert_eq!(said(&events), "", "an error is no answer");
    let shown = shown::event(events.last().unwrap());
    println!(
        "| {agent} | {status} | {shown} | {} requests |",
        subject.model.requests().len()
    );
    events
}

async fn is_refused(agent: &'static str) {
    let events = refused(agent, 401).await;
    assert!(
        matches!(error(&events), ErrorCode::AuthFailed | ErrorCode::Timeout),
        "{}",
        story(&events)
    );
}

async fn is_asked_to_slow_down(agent: &'static str) {
    let events = refused(agent, 429).await;
    assert!(
        matches!(error(&events), ErrorCode::RateLimited | ErrorCode::Timeout),
        "{}",
        story(&events)
    );
}

async fn p5_hangs_no_longer_than_allowed(agent: &'static str) {
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
    assert_eq!(error(&events), ErrorCode::Timeout, "{}", story(&events));
    drop(handle);
    assert!(
        subject.world.is_left().await,
        "{:?}",
        subject.world.processes()
    );
}

pub(crate) fn endless() -> Value {
    let shell = json!({ "shell": { "command": "tail -f notes.txt" } });
    json!({ "turns": [{ "answer": [shell] }, { "answer": [{ "text": "Stopped." }], "or_more": true }] })
}

async fn p5_is_cancelled_in_a_tool(agent: &'static str) {
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
    assert_eq!(error(&seen), ErrorCode::Cancelled, "{}", story(&seen));
    drop(handle);
    assert!(
        subject.world.is_left().await,
        "{:?}",
        subject.world.processes()
    );
}

async fn survives_the_death_of_a_warm_process(agent: &'static str) {
    let subject = Subject::new(agent, always("Aye.")).await;
    let handle = subject.handle("deny");
    let mut session = handle.new_session(subject.options()).await.unwrap();
    is_result(&turn(&handle, &mut session, "Go on").await);
    let waiting = subject.world.processes();
    assert!(!waiting.is_empty(), "no process waits for the next turn");
    for pid in waiting {
        let _ = std::process::Command::new("kill")
            .args(["-9", &pid.to_string()])
            .status();
    }
    is_result(&turn(&handle, &mut session, "Go on").await);
}

/// A test of each case for each agent.
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
    answers, edits_a_file, is_kept_from_writing, fits_a_schema, takes_a_session_up, does_not_know_a_session, is_refused,
    is_asked_to_slow_down, p5_hangs_no_longer_than_allowed, p5_is_cancelled_in_a_tool, survives_the_death_of_a_warm_process);
on!(real_codex_acp, "codex-acp":
    answers, edits_a_file, is_kept_from_writing, fits_a_schema, takes_a_session_up, does_not_know_a_session, is_refused,
    is_asked_to_slow_down, p5_hangs_no_longer_than_allowed, p5_is_cancelled_in_a_tool, survives_the_death_of_a_warm_process);
on!(real_gemini, "gemini":
    answers, edits_a_file, is_kept_from_writing, fits_a_schema, takes_a_session_up, does_not_know_a_session, is_refused,
    is_asked_to_slow_down, p5_hangs_no_longer_than_allowed, p5_is_cancelled_in_a_tool);
on!(real_opencode, "opencode":
    answers, edits_a_file, is_kept_from_writing, fits_a_schema, takes_a_session_up, does_not_know_a_session, is_refused,
    is_asked_to_slow_down, p5_hangs_no_longer_than_allowed, p5_is_cancelled_in_a_tool, survives_the_death_of_a_warm_process);
on!(real_qwen_acp, "qwen":
    answers, edits_a_file, is_kept_from_writing, fits_a_schema, takes_a_session_up, does_not_know_a_session, is_refused,
    is_asked_to_slow_down, p5_hangs_no_longer_than_allowed, p5_is_cancelled_in_a_tool);
on!(real_copilot, "copilot":
    answers, edits_a_file, is_kept_from_writing, fits_a_schema, takes_a_session_up, does_not_know_a_session, is_refused,
    is_asked_to_slow_down, p5_hangs_no_longer_than_allowed, p5_is_cancelled_in_a_tool);
