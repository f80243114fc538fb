//! A scenario is red when what it is about breaks: five of them, each played by an agent that breaks it.

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
    /// Tools are said to have succeeded.
    CallsEverythingASuccess,
    /// Every fault is of an unknown kind.
    ForgetsTheCode,
    /// Files are written somewhere else.
    WritesElsewhere,
    /// Every session is a new one.
    ForgetsTheSession,
}

struct Flawed {
    inner: ScriptedAgent,
    flaw: Flaw,
    elsewhere: PathBuf,
}

impl AgentBackend for Flawed {
    fn name(&self) -> &'static str {
        "flawed"
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn new_session(&self, mut options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        if self.flaw == Flaw::WritesElsewhere {
            options.cwd = Some(self.elsewhere.clone());
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
            let fresh = match self.flaw {
                Flaw::ForgetsTheSession => {
                    self.inner.new_session(SessionOptions::default()).await?
                }
                _ => id.clone(),
            };
            let flaw = self.flaw;
            let events = self.inner.prompt(&fresh, prompt).await?;
            Ok(events
                .map(move |emitted| BackendEvent::from(flaw.spoil(emitted.event)))
                .boxed())
        })
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        self.inner.cancel(id)
    }
}

impl Flaw {
    fn spoil(self, mut event: AgentEvent) -> AgentEvent {
        match (self, &mut event) {
            (Self::LosesText, AgentEvent::Text(text) | AgentEvent::Result { text, .. }) => {
                text.truncate(text.floor_char_boundary(text.len() / 2));
            }
            (Self::CallsEverythingASuccess, AgentEvent::ToolEnd { success, .. }) => *success = true,
            (Self::ForgetsTheCode, AgentEvent::Error { code, .. }) => *code = ErrorCode::Unknown,
            _ => {}
        }
        event
    }
}

/// Agents with a flaw.
struct Flaws(Flaw);

impl ScenarioSubject for Flaws {
    fn name(&self) -> String {
        format!("{:?}", self.0)
    }

    fn prepare<'a>(&'a self, cast: ScenarioContext<'a>) -> BoxFuture<'a, Result<PreparedAgent>> {
        Box::pin(async move {
            let elsewhere = cast.workspace.join("elsewhere");
            std::fs::create_dir_all(&elsewhere).unwrap();
            let inner = ScriptedAgent::new(cast.scenario.script.clone().unwrap());
            let flawed = Flawed {
                inner,
                flaw: self.0,
                elsewhere,
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
async fn five_scenarios_are_red_when_what_they_are_about_breaks() {
    for (flaw, scenario, said) in [
        (
            Flaw::LosesText,
            "basic/plain_text.json",
            "expected event 1 was not seen",
        ),
        (
            Flaw::CallsEverythingASuccess,
            "tools/failures/read_missing.json",
            r#""success":false"#,
        ),
        (
            Flaw::ForgetsTheCode,
            "errors/rate_limited.json",
            r#""code":"RateLimited""#,
        ),
        (
            Flaw::WritesElsewhere,
            "tools/internal/write.json",
            "hello.txt is not there",
        ),
        (
            Flaw::ForgetsTheSession,
            "sessions/two_prompts.json",
            "it asks for answer 1",
        ),
    ] {
        assert_eq!(
            problem(&ScriptedSubject, scenario).await,
            None,
            "{scenario} without a flaw"
        );
        let problem = problem(&Flaws(flaw), scenario).await.unwrap_or_default();
        assert!(problem.contains(said), "{flaw:?} in {scenario}: {problem}");
    }
}

#[tokio::test]
async fn what_is_not_for_an_agent_is_left_out_and_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = r#"{
        "name": "odd", "prompt": "hi", "expected_events": [],
        "not_for": {"mock": "a mock has no nose"}
    }"#;
    std::fs::write(folder.path().join("odd.json"), scenario).unwrap();
    let report = run_scenarios_on(&ScriptedSubject, folder.path())
        .await
        .unwrap();
    assert_eq!(
        (report.passed(), report.failed(), report.skipped()),
        (0, 0, 1)
    );
    let shown = report.to_string();
    let expected = "left out odd.json: a mock has no nose\n0 passed, 0 failed, 1 left out";
    assert_eq!(shown, expected);
    assert!(
        report
            .junit()
            .contains(r#"<skipped message="a mock has no nose"/>"#)
    );
}
