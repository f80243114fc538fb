//! A turn that may not write writes nothing, whatever the agent does, and its events say why.

use serde_json::{Value, json};
use windlass_agents::cli::{self, RunContext, SessionStart};
use windlass_agents::composite::{Composite, CompositeKind, CompositeProfile, Node};
use windlass_agents::{ProgramSettings, acp, cursor};
use windlass_core::{
    AgentEvent, AgentHandle, DirAccess, PermissionPolicy, PermissionRule, SessionOptions, ToolKind,
};
use windlass_sandbox::Mechanism;
use windlass_testkit::MockAgent;

use super::harness::{Harness, turn};
use super::model::harness::{Api, ModelFixture, scripted};
use super::{acp as peer, fake_agent, render};

/// Returns options under which no write can be allowed, each with a description.
fn read_only_options(harness: &Harness) -> Vec<(&'static str, SessionOptions)> {
    let options = || SessionOptions::in_dir(harness.work());
    vec![
        (
            "read-only access",
            SessionOptions {
                access: DirAccess::ReadOnly,
                permissions: PermissionPolicy::Allow,
                ..options()
            },
        ),
        ("the policy is to deny", options()),
        (
            "the policy is to ask, without an approver",
            SessionOptions {
                permissions: PermissionPolicy::Ask,
                ..options()
            },
        ),
        (
            "only reads are allowed",
            SessionOptions {
                permission_rules: vec![
                    PermissionRule::new(PermissionPolicy::Allow).kind(ToolKind::Read),
                ],
                ..options()
            },
        ),
    ]
}

/// Runs one turn in a new session, and returns its events as text.
async fn run(agent: &AgentHandle, options: SessionOptions, prompt: &str) -> String {
    let mut session = agent.new_session(options).await.unwrap();
    let events = turn(agent, &mut session, prompt).await;
    let lines: Vec<String> = events.iter().map(render::event).collect();
    lines.join("\n")
}

async fn cli_agent(harness: &Harness, config: Value) -> AgentHandle {
    let context = harness.context(&[fake_agent::bin_dir()]).await;
    cursor::factory(context)(&config).unwrap()
}

async fn acp_agent(harness: &Harness, config: Value) -> AgentHandle {
    let context = harness.context(&[peer::bin_dir()]).await;
    acp::factory(None, context)(&config).unwrap()
}

fn writing_peer(permissions: Option<&str>) -> Value {
    let mut config = json!({ "command": ["acp-peer", "writes"], "writable": ["~/.peer"] });
    if let Some(permissions) = permissions {
        config["permissions"] = permissions.into();
    }
    config
}

#[tokio::test]
async fn p16_command_line_agent_cannot_write_in_a_read_only_turn() {
    let harness = Harness::new();
    let agent = cli_agent(&harness, json!({ "api_key_env": "TEST_KEY" })).await;
    for (case, options) in read_only_options(&harness) {
        let events = run(&agent, options, "write without asking").await;
        assert!(events.contains("Read-only file system"), "{case}: {events}");
        assert_eq!(harness.read("hello.txt"), "", "{case}");
    }
    let allowed = SessionOptions {
        permissions: PermissionPolicy::Allow,
        ..SessionOptions::in_dir(harness.work())
    };
    run(&agent, allowed, "write without asking").await;
    assert_eq!(harness.read("hello.txt"), "hello\n");
}

#[tokio::test]
async fn p16_acp_agent_cannot_write_in_a_read_only_turn() {
    let harness = Harness::new();
    let agent = acp_agent(&harness, writing_peer(None)).await;
    for (case, options) in read_only_options(&harness) {
        let events = run(&agent, options, "hello.txt").await;
        assert!(events.contains("Read-only file system"), "{case}: {events}");
        assert_eq!(harness.read("hello.txt"), "", "{case}");
    }
    // Another process serves a session that may write, and the first one continues to serve the others.
    let allowed = SessionOptions {
        permissions: PermissionPolicy::Allow,
        ..SessionOptions::in_dir(harness.work())
    };
    run(&agent, allowed, "hello.txt").await;
    assert_eq!(harness.read("hello.txt"), "written");
    for (case, options) in read_only_options(&harness) {
        run(&agent, options, "other.txt").await;
        assert_eq!(harness.read("other.txt"), "", "{case}");
    }
}

/// The agent's own settings allow everything.
#[tokio::test]
async fn p16_configured_permissions_do_not_make_a_read_only_turn_writable() {
    let harness = Harness::new();
    let agent = acp_agent(&harness, writing_peer(Some("allow"))).await;
    let read_only = SessionOptions {
        access: DirAccess::ReadOnly,
        ..SessionOptions::in_dir(harness.work())
    };
    let events = run(&agent, read_only.clone(), "hello.txt").await;
    assert!(events.contains("Read-only file system"), "{events}");
    // The same session can be resumed with other access, and is then read-only again.
    let mut session = agent
        .new_session(SessionOptions::in_dir(harness.work()))
        .await
        .unwrap();
    turn(&agent, &mut session, "first.txt").await;
    assert_eq!(harness.read("first.txt"), "written");
    agent.load_session(&session, read_only).await.unwrap();
    turn(&agent, &mut session, "second.txt").await;
    assert_eq!(harness.read("second.txt"), "");
}

#[tokio::test]
async fn p16_model_with_tools_cannot_write_in_a_read_only_turn() {
    let calls = json!([
        { "answer": [{ "write_file": { "path": "hello.txt", "content": "x" } }] },
        { "answer": [{ "shell": { "command": "echo x > hello.txt" } }] },
        { "answer": [{ "text": "Tried." }] },
    ]);
    for index in 0..read_only_options(&Harness::new()).len() {
        let model = scripted(calls.clone()).await;
        let config = json!({ "permissions": null });
        let fixture = ModelFixture::new(Api::Chat, &model.url(), config).await;
        let (case, options) = read_only_options(&fixture.harness).remove(index);
        let events = run(&fixture.handle(), options, "Write.").await;
        let denied = events.contains("only read-only tools are") || events.contains("was denied");
        assert!(denied, "{case}: {events}");
        assert_eq!(fixture.harness.read("hello.txt"), "", "{case}");
    }
}

#[tokio::test]
async fn p16_planner_of_a_composite_cannot_write() {
    let harness = Harness::new();
    let planner = acp_agent(&harness, writing_peer(Some("allow"))).await;
    let nodes = vec![
        Node::new("thinker", planner),
        Node::new("doer", AgentHandle::wrap(MockAgent::new())),
    ];
    let composite = Composite::new(CompositeProfile::new(CompositeKind::PlanExecute), nodes);
    let composite = composite.unwrap().handle();
    let options = SessionOptions {
        permissions: PermissionPolicy::Allow,
        ..SessionOptions::in_dir(harness.work())
    };
    let mut session = composite.new_session(options).await.unwrap();
    let events = turn(&composite, &mut session, "Plan it.").await;
    let failed = events.iter().find_map(|event| match event {
        AgentEvent::ToolEnd {
            success, output, ..
        } => Some((*success, output.to_string())),
        _ => None,
    });
    let (success, output) = failed.unwrap();
    assert!(
        !success && output.contains("Read-only file system"),
        "{output}"
    );
    let names: Vec<_> = harness.work().read_dir().unwrap().flatten().collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

/// Returns the arguments of one run over each transport, by the names of agent and transport.
fn arguments(access: DirAccess, permissions: PermissionPolicy) -> Vec<(String, Vec<String>)> {
    let settings = ProgramSettings::default();
    let transports = cli::PROFILES
        .iter()
        .flat_map(|profile| profile.transports.iter().map(|one| (profile.name(), one)));
    let run = |(agent, transport): (&str, &cli::Transport)| {
        let command = (transport.command)(&RunContext {
            settings: &settings,
            version: transport.since,
            mechanism: Mechanism::Bubblewrap,
            cwd: "/work".as_ref(),
            access,
            readable: &[],
            model: None,
            permissions,
            instructions: None,
            rules: &[],
            mcp_servers: &[],
            servers_file: None,
            schema: None,
            schema_file: None,
            start: SessionStart::Fresh,
            turn: 1,
            before: None,
        });
        (format!("{agent} {}", transport.name), command.args)
    };
    transports.map(run).collect()
}

#[test]
fn read_only_turn_uses_the_own_mode_of_the_agent() {
    let modes = [
        ("claude stream-json", "--permission-mode=plan"),
        ("claude print", "--permission-mode=plan"),
        ("codex exec", "sandbox_mode=\"read-only\""),
        ("qwen stream-json", "--approval-mode=plan"),
    ];
    let read_only = arguments(DirAccess::ReadOnly, PermissionPolicy::Deny);
    let writing = arguments(DirAccess::Files, PermissionPolicy::Allow);
    for (transport, mode) in modes {
        let has_mode = |all: &[(String, Vec<String>)]| {
            let found = all.iter().find(|(name, _)| name == transport);
            let (_, args) = found.unwrap_or_else(|| panic!("{transport} is not in {all:?}"));
            args.iter().any(|arg| arg.contains(mode))
        };
        assert!(has_mode(&read_only), "{transport}: {read_only:?}");
        assert!(!has_mode(&writing), "{transport}: {writing:?}");
    }
}

#[tokio::test]
async fn read_only_session_selects_the_own_mode_of_an_acp_agent() {
    let harness = Harness::new();
    let mut config = writing_peer(Some("allow"));
    config["command"] = json!(["acp-peer", "starts-in-build-mode"]);
    config["mode"] = json!("build");
    let agent = acp_agent(&harness, config).await;
    let options = || SessionOptions::in_dir(harness.work());
    agent.new_session(options()).await.unwrap();
    assert_eq!(harness.read("../home/.peer/set"), "");
    let read_only = SessionOptions {
        access: DirAccess::ReadOnly,
        ..options()
    };
    agent.new_session(read_only).await.unwrap();
    let set = harness.read("../home/.peer/set");
    assert!(set.contains("\"modeId\": \"plan\""), "{set}");
}
