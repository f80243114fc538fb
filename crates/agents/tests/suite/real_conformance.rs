//! The suite that every backend must pass, on the real programs.

use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;
use windlass_core::{AgentHandle, Result};
use windlass_testkit::conformance::{BackendUnderTest, CaseScript, exercise};

use super::conformance::{judge, script};
use super::real_acp;
use super::world::Subject;

/// A real agent, and a scripted model for each case.
struct Real {
    agent: &'static str,
    transport: &'static str,
    subjects: Mutex<Vec<Subject>>,
}

impl BackendUnderTest for Real {
    fn agent<'a>(&'a self, stage: &'a CaseScript) -> BoxFuture<'a, Result<AgentHandle>> {
        Box::pin(async move {
            let turns = script(stage);
            let subject = Subject::new(self.agent, self.transport, turns).await;
            let handle = subject.handle("allow");
            self.subjects
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(subject);
            Ok(handle)
        })
    }

    fn live_processes(&self) -> Vec<String> {
        let subjects = self.subjects.lock().unwrap_or_else(PoisonError::into_inner);
        let pids = subjects
            .iter()
            .flat_map(|subject| subject.world.processes());
        pids.map(|pid| format!("process {pid}")).collect()
    }
}

/// A real agent that speaks ACP, and a scripted model for each case.
struct RealAcp {
    agent: &'static str,
    subjects: Mutex<Vec<real_acp::Subject>>,
}

impl BackendUnderTest for RealAcp {
    fn agent<'a>(&'a self, stage: &'a CaseScript) -> BoxFuture<'a, Result<AgentHandle>> {
        Box::pin(async move {
            let subject = real_acp::Subject::new(self.agent, script(stage)).await;
            let handle = subject.handle("allow");
            self.subjects
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(subject);
            Ok(handle)
        })
    }

    fn live_processes(&self) -> Vec<String> {
        let subjects = self.subjects.lock().unwrap_or_else(PoisonError::into_inner);
        let pids = subjects
            .iter()
            .flat_map(|subject| subject.world.processes());
        pids.map(|pid| format!("process {pid}")).collect()
    }
}

/// Runs the suite; these cases, and no others, are known to fail because the program itself does otherwise.
async fn passes(agent: &'static str, transport: &'static str, known: &[&str]) {
    let real = Real {
        agent,
        transport,
        subjects: Mutex::default(),
    };
    judge(exercise(&real).await, known);
}

async fn passes_by_acp(agent: &'static str, known: &[&str]) {
    let real = RealAcp {
        agent,
        subjects: Mutex::default(),
    };
    let report = exercise(&real).await;
    for subject in real.subjects.lock().unwrap().iter() {
        for refused in subject.model.unexpected() {
            println!("not in the script: {refused}");
        }
    }
    judge(report, known);
}

#[tokio::test]
async fn real_codex_app_server_passes() {
    passes("codex", "app-server", &[]).await;
}

/// `codex exec` does not begin without a prompt.
#[tokio::test]
async fn real_codex_exec_passes() {
    let known = ["prompts: empty", "prompts: only white space"];
    passes("codex", "exec", &known).await;
}

/// Claude answers a blank prompt itself.
#[tokio::test]
async fn real_claude_two_way_passes() {
    passes("claude", "stream-json", &["prompts: only white space"]).await;
}

/// Its model never hears a blank prompt.
#[tokio::test]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn real_claude_agent_acp_passes() {
    passes_by_acp("claude-agent-acp", &["prompts: only white space"]).await;
}

#[tokio::test]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn real_codex_acp_passes() {
    passes_by_acp("codex-acp", &[]).await;
}

/// Gemini says of a command that it is completed, however it ended.
#[tokio::test]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn real_gemini_passes() {
    passes_by_acp("gemini", &["tools: failing"]).await;
}

#[tokio::test]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn real_opencode_passes() {
    passes_by_acp("opencode", &[]).await;
}

/// Copilot tidies a prompt before its model hears it, and knows how much a model may hear.
#[tokio::test]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn real_copilot_passes() {
    let known = [
        "prompts: line ends",
        "prompts: white space around",
        "prompts: only white space",
        "prompts: 1 MiB",
    ];
    passes_by_acp("copilot", &known).await;
}

#[tokio::test]
#[ignore = "full: starts a real agent that speaks ACP"]
async fn real_qwen_passes() {
    passes_by_acp("qwen", &[]).await;
}
