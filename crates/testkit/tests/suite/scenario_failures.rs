//! A scenario fails when the behavior it is about breaks: five scenarios, each run with an agent
//! that breaks it.

use std::path::{Path, PathBuf};

use futures::StreamExt;
use futures::future::BoxFuture;
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, BackendEvent, Capabilities, ErrorCode, EventStream,
    Prompt, Result, SessionId, SessionOptions,
};
use windlass_testkit::ScriptedAgent;
use windlass_testkit::scenario::{
    PreparedAgent, ScenarioContext, ScenarioOutcome, ScenarioSubject, ScriptedSubject,
    run_scenarios_on,
};

/// What an agent does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    /// Half of the text is lost.
    LosesText,
    /// Every tool call is reported as success.
    ReportsOnlySuccess,
    /// Every error has an unknown code.
    LosesErrorCode,
    /// Files are written to another directory.
    WritesToWrongDir,
    /// Every prompt starts a new session.
    LosesSession,
}

struct Flawed {
    inner: ScriptedAgent,
    flaw: Flaw,
    wrong_dir: PathBuf,
}

impl AgentBackend for Flawed {
    fn name(&self) -> &'static str {
        "flawed"
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn new_session(&self, mut options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        if self.flaw == Flaw::WritesToWrongDir {
            options.cwd = Some(self.wrong_dir.clone());
        }
        self.inner.new_session(options)
    }

    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        self.inner.load_session(id, options)
    }

    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        Box::pin(async move {
            let session = match self.flaw {
                Flaw::LosesSession => self.inner.new_session(SessionOptions::default()).await?,
                _ => id.clone(),
            };
            let flaw = self.flaw;
            let events = self.inner.prompt(&session, prompt).await?;
            Ok(events
                .map(move |emitted| BackendEvent::from(flaw.apply(emitted.event)))
                .boxed())
        })
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        self.inner.cancel(id)
    }
}

impl Flaw {
    fn apply(self, mut event: AgentEvent) -> AgentEvent {
        match (self, &mut event) {
            (Self::LosesText, AgentEvent::Text(text) | AgentEvent::Result { text, .. }) => {
                text.truncate(text.floor_char_boundary(text.len() / 2));
            }
            (Self::ReportsOnlySuccess, AgentEvent::ToolEnd { success, .. }) => *success = true,
            (Self::LosesErrorCode, AgentEvent::Error { code, .. }) => *code = ErrorCode::Unknown,
            _ => {}
        }
        event
    }
}

/// Agents with a flaw.
struct FlawedSubject(Flaw);

impl ScenarioSubject for FlawedSubject {
    fn name(&self) -> String {
        format!("{:?}", self.0)
    }

    fn prepare<'a>(&'a self, context: ScenarioContext<'a>) -> BoxFuture<'a, Result<PreparedAgent>> {
        Box::pin(async move {
            let wrong_dir = context.workspace.join("elsewhere");
            std::fs::create_dir_all(&wrong_dir).unwrap();
            let inner = ScriptedAgent::new(context.scenario.script.clone().unwrap());
            let flawed = Flawed {
                inner,
                flaw: self.0,
                wrong_dir,
            };
            Ok(AgentHandle::wrap(flawed).into())
        })
    }
}

fn library(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    root.join("scenarios").join(name)
}

async fn problem(subject: &dyn ScenarioSubject, scenario: &str) -> Option<String> {
    let report = run_scenarios_on(subject, &library(scenario)).await.unwrap();
    assert_eq!(report.results.len(), 1);
    match report.results[0].outcome.clone() {
        ScenarioOutcome::Passed => None,
        ScenarioOutcome::Failed(problem) | ScenarioOutcome::Skipped(problem) => Some(problem),
    }
}

#[tokio::test]
async fn five_scenarios_fail_when_their_behavior_breaks() {
    for (flaw, scenario, message) in [
        (
            Flaw::LosesText,
            "basic/plain_text.json",
            "expected event 1 did not occur",
        ),
        (
            Flaw::ReportsOnlySuccess,
            "tools/failures/read_missing.json",
            r#""success":false"#,
        ),
        (
            Flaw::LosesErrorCode,
            "errors/rate_limited.json",
            r#""code":"RateLimited""#,
        ),
        (
            Flaw::WritesToWrongDir,
            "tools/internal/write.json",
            "hello.txt does not exist",
        ),
        (
            Flaw::LosesSession,
            "sessions/two_prompts.json",
            "it is turn 1 of the conversation",
        ),
    ] {
        assert_eq!(
            problem(&ScriptedSubject, scenario).await,
            None,
            "{scenario} without a flaw"
        );
        let problem = problem(&FlawedSubject(flaw), scenario)
            .await
            .unwrap_or_default();
        assert!(
            problem.contains(message),
            "{flaw:?} in {scenario}: {problem}"
        );
    }
}

#[tokio::test]
async fn excluded_scenario_is_skipped_and_reported() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = r#"{
        "name": "odd", "prompt": "hi", "expected_events": [],
        "not_for": {"mock": "not supported by mocks"}
    }"#;
    std::fs::write(dir.path().join("odd.json"), scenario).unwrap();
    let report = run_scenarios_on(&ScriptedSubject, dir.path())
        .await
        .unwrap();
    assert_eq!(
        (report.passed(), report.failed(), report.skipped()),
        (0, 0, 1)
    );
    let text = report.to_string();
    let expected = "skipped odd.json: not supported by mocks\n0 passed, 0 failed, 1 skipped";
    assert_eq!(text, expected);
    assert!(
        report
            .junit()
            .contains(r#"<skipped message="not supported by mocks"/>"#)
    );
}
