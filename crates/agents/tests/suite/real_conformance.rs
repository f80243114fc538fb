//! The conformance suite, on the real programs.

use futures::future::BoxFuture;
use parking_lot::Mutex;
use windlass_core::{AgentHandle, Result};
use windlass_testkit::conformance::{BackendUnderTest, CaseScript, exercise};

use super::conformance::{assert_failures, script};
use super::harness::Subject;
use super::real_acp;

/// A real agent, with a scripted model for each case.
struct Real {
    agent: &'static str,
    transport: &'static str,
    subjects: Mutex<Vec<Subject>>,
}

impl BackendUnderTest for Real {
    fn agent<'a>(&'a self, case: &'a CaseScript) -> BoxFuture<'a, Result<AgentHandle>> {
        Box::pin(async move {
            let turns = script(case);
            let subject = Subject::new(self.agent, self.transport, turns).await;
            let handle = subject.handle("allow");
            self.subjects.lock().push(subject);
            Ok(handle)
        })
    }

    fn live_processes(&self) -> Vec<String> {
        let subjects = self.subjects.lock();
        let pids = subjects
            .iter()
            .flat_map(|subject| subject.harness.processes());
        pids.map(|pid| format!("process {pid}")).collect()
    }
}

/// A real ACP agent, with a scripted model for each case.
struct RealAcp {
    agent: &'static str,
    subjects: Mutex<Vec<real_acp::Subject>>,
}

impl BackendUnderTest for RealAcp {
    fn agent<'a>(&'a self, case: &'a CaseScript) -> BoxFuture<'a, Result<AgentHandle>> {
        Box::pin(async move {
            let subject = real_acp::Subject::new(self.agent, script(case)).await;
            let handle = subject.handle("allow");
            self.subjects.lock().push(subject);
            Ok(handle)
        })
    }

    fn live_processes(&self) -> Vec<String> {
        let subjects = self.subjects.lock();
        let pids = subjects
            .iter()
            .flat_map(|subject| subject.harness.processes());
        pids.map(|pid| format!("process {pid}")).collect()
    }
}

/// Runs the suite. Exactly the `known` cases fail, because the program itself deviates.
async fn passes(agent: &'static str, transport: &'static str, known: &[&str]) {
    let real = Real {
        agent,
        transport,
        subjects: Mutex::default(),
    };
    assert_failures(exercise(&real).await, known);
}

async fn passes_by_acp(agent: &'static str, known: &[&str]) {
    let real = RealAcp {
        agent,
        subjects: Mutex::default(),
    };
    let report = exercise(&real).await;
    for subject in real.subjects.lock().iter() {
        for request in subject.model.unexpected() {
            println!("not in the script: {request}");
        }
    }
    assert_failures(report, known);
}

#[tokio::test]
async fn real_codex_app_server_passes() {
    passes("codex", "app-server", &[]).await;
}

/// `codex exec` does not start without a prompt.
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

/// It does not send a blank prompt to its model.
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

/// Gemini reports every command as completed, even a failed one.
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

/// Copilot normalizes a prompt before it sends it to its model, and limits its length.
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
