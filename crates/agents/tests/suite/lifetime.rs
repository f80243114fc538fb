//! How long processes live, and whom they serve: a hostile agent leaves processes behind, or reuses session IDs.

use std::path::Path;

use serde_json::json;
use windlass_agents::acp;
use windlass_core::{AgentEvent, AgentHandle, Error, PermissionPolicy, SessionId, SessionOptions};

use super::acp::bin_dir;
use super::harness::{Harness, turn};

async fn agent(harness: &Harness, behavior: &str) -> AgentHandle {
    let context = harness.context(&[bin_dir()]).await;
    acp::factory(None, context)(&json!({ "command": ["acp-peer", behavior] })).unwrap()
}

fn in_work(harness: &Harness) -> SessionOptions {
    SessionOptions::in_dir(harness.work())
}

fn subdir(harness: &Harness, name: &str) -> SessionOptions {
    let dir = harness.work().join(name);
    std::fs::create_dir_all(&dir).unwrap();
    SessionOptions {
        permissions: PermissionPolicy::Allow,
        ..SessionOptions::in_dir(dir)
    }
}

#[tokio::test]
async fn p5_close_ends_the_agent_and_its_background_processes() {
    let harness = Harness::new();
    let agent = agent(&harness, "starts-background").await;
    let attempt = agent.scoped();
    let mut session = attempt.new_session(in_work(&harness)).await.unwrap();
    turn(&attempt, &mut session, "go").await;
    assert!(harness.processes().len() > 1, "{:?}", harness.processes());
    attempt.close().await;
    assert_eq!(harness.processes(), [0_u32; 0]);
    // The shared handle outlives the attempt.
    let mut session = agent.new_session(in_work(&harness)).await.unwrap();
    turn(&agent, &mut session, "go").await;
    agent.close().await;
    assert_eq!(harness.processes(), [0_u32; 0]);
}

#[tokio::test]
async fn p5_close_ends_the_processes_of_a_running_turn() {
    let harness = Harness::new();
    let attempt = agent(&harness, "starts-background").await.scoped();
    let session = attempt.new_session(in_work(&harness)).await.unwrap();
    let mut events = attempt.prompt(&session, "and hang").await.unwrap();
    while !matches!(events.recv().await, Some(AgentEvent::Text(_))) {}
    attempt.close().await;
    assert_eq!(harness.processes(), [0_u32; 0]);
    let end = events.collect().await;
    assert!(end.last().unwrap().is_terminal(), "{end:?}");
}

#[tokio::test]
async fn p5_closed_agent_starts_no_process() {
    let harness = Harness::new();
    let attempt = agent(&harness, "plain").await.scoped();
    let mut session = attempt.new_session(in_work(&harness)).await.unwrap();
    turn(&attempt, &mut session, "ping").await;
    attempt.close().await;
    let result = attempt.new_session(in_work(&harness)).await;
    assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
    let events = turn(&attempt, &mut session, "ping").await;
    assert!(matches!(events.last(), Some(AgentEvent::Error { .. })));
    assert_eq!(harness.processes(), [0_u32; 0]);
}

#[tokio::test]
async fn p5_dropped_scope_ends_its_processes_and_no_others() {
    let harness = Harness::new();
    let agent = agent(&harness, "starts-background").await;
    let (one, two) = (agent.scoped(), agent.scoped());
    let mut first = one.new_session(subdir(&harness, "one")).await.unwrap();
    let mut second = two.new_session(subdir(&harness, "two")).await.unwrap();
    turn(&one, &mut first, "go").await;
    turn(&two, &mut second, "go").await;
    let all = harness.processes().len();
    one.close().await;
    assert_eq!(harness.processes().len(), all / 2);
    drop(two);
    assert!(harness.wait_for_exit().await, "{:?}", harness.processes());
}

#[tokio::test]
async fn scopes_do_not_share_a_process() {
    let harness = Harness::new();
    let agent = agent(&harness, "plain").await;
    for _ in 0..2 {
        let scoped = agent.scoped();
        let mut session = scoped.new_session(in_work(&harness)).await.unwrap();
        let events = turn(&scoped, &mut session, "ping").await;
        // A shared process would count both prompts.
        assert!(
            events.contains(&AgentEvent::Text("Pong 1.".to_owned())),
            "{events:?}"
        );
        scoped.close().await;
    }
}

/// Prompts the session, and returns the directory that the agent answered from.
async fn directory(agent: &AgentHandle, session: &mut SessionId, prompt: &str) -> String {
    let events = turn(agent, session, prompt).await;
    match events.last() {
        Some(AgentEvent::Result { text, .. }) => text.clone(),
        other => panic!("{other:?}"),
    }
}

fn prompts(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("prompts.txt")).unwrap_or_default()
}

#[tokio::test]
async fn equal_ids_of_two_connections_are_two_sessions() {
    let harness = Harness::new();
    let agent = agent(&harness, "same-id").await;
    let (one, two) = (subdir(&harness, "one"), subdir(&harness, "two"));
    let mut first = agent.new_session(one.clone()).await.unwrap();
    let mut second = agent.new_session(two.clone()).await.unwrap();
    // The first session has the ID that the agent gave it, which is what a user resumes it by.
    assert_eq!(first.as_str(), "session-1");
    assert_ne!(first, second);
    let (one, two) = (one.cwd.unwrap(), two.cwd.unwrap());
    for _ in 0..2 {
        assert_eq!(
            directory(&agent, &mut first, "to one").await,
            one.display().to_string()
        );
        assert_eq!(
            directory(&agent, &mut second, "to two").await,
            two.display().to_string()
        );
    }
    assert_eq!(prompts(&one), "to one\nto one\n");
    assert_eq!(prompts(&two), "to two\nto two\n");
}

#[tokio::test]
async fn equal_ids_of_one_connection_are_rejected() {
    let harness = Harness::new();
    let agent = agent(&harness, "same-id").await;
    agent.new_session(in_work(&harness)).await.unwrap();
    let error = agent.new_session(in_work(&harness)).await.unwrap_err();
    assert!(error.to_string().contains("session-1"), "{error}");
}
