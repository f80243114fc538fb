//! Playing scenarios.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::{
    AgentEvent, AgentHandle, Clock, EventReceiver, McpServer, PermissionPolicy, Prompt, SessionId,
    SessionOptions, SystemClock,
};

use super::report::{ScenarioFailure, ScenarioOutcome, ScenarioReport, ScenarioResult};
use super::workspace::{self, ScenarioWorkspace};
use super::{
    EventMatcher, FollowUpSession, LoadError, Scenario, ScenarioContext, ScenarioSubject,
    assertions, load_scenarios, matching,
};

/// How long a turn may take that does not say.
const DEFAULT_TURN_TIMEOUT: Duration = Duration::from_secs(60);

/// Plays every scenario in a folder with one agent.
pub async fn run_scenarios(
    handle: &AgentHandle,
    scenarios_dir: &Path,
) -> Result<ScenarioReport, LoadError> {
    run_scenarios_on(handle, scenarios_dir).await
}

/// Plays every scenario in a folder with an agent of the subject's for each.
pub async fn run_scenarios_on(
    subject: &dyn ScenarioSubject,
    scenarios_dir: &Path,
) -> Result<ScenarioReport, LoadError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let mut results = Vec::new();
    for (file, scenario) in load_scenarios(scenarios_dir)? {
        let started = clock.elapsed();
        let outcome = match scenario.not_for.get(&subject.name()) {
            Some(reason) => ScenarioOutcome::Skipped(reason.clone()),
            None => match run_scenario(subject, &file, &scenario).await {
                Ok(()) => ScenarioOutcome::Passed,
                Err(failure) => ScenarioOutcome::Failed(failure.to_string()),
            },
        };
        results.push(ScenarioResult {
            file,
            name: scenario.name,
            outcome,
            duration: clock.elapsed().saturating_sub(started),
        });
    }
    Ok(ScenarioReport {
        subject: subject.name(),
        results,
    })
}

async fn run_scenario(
    subject: &dyn ScenarioSubject,
    file: &Path,
    scenario: &Scenario,
) -> Result<(), ScenarioFailure> {
    let workspace = ScenarioWorkspace::new(scenario).map_err(ScenarioFailure::Setup)?;
    let cast = ScenarioContext {
        scenario,
        file,
        workspace: workspace.path(),
    };
    let played = run_in(subject, cast, &workspace).await;
    let removed = workspace.remove().map_err(ScenarioFailure::Setup);
    played.and(removed)
}

async fn run_in(
    subject: &dyn ScenarioSubject,
    cast: ScenarioContext<'_>,
    workspace: &ScenarioWorkspace,
) -> Result<(), ScenarioFailure> {
    let scenario = cast.scenario;
    let said = |error: windlass_core::Error| ScenarioFailure::Setup(error.to_string());
    let mut staged = subject.prepare(cast).await.map_err(said)?;
    let stage = ScenarioRun {
        handle: &staged.handle,
        scenario,
        workspace,
        options: options(scenario, workspace)?,
        head_start: subject.extra_time(),
    };
    let mut session = stage
        .handle
        .new_session(stage.options.clone())
        .await
        .map_err(said)?;
    stage
        .turn(&session, &scenario.prompt, &scenario.expected_events)
        .await?;
    for next in &scenario.then {
        session = stage.next_session(session, next.session).await?;
        stage
            .turn(&session, &next.prompt, &next.expected_events)
            .await?;
    }
    if let Some(end) = staged.end.take() {
        end().map_err(said)?;
    }
    let problems = match &scenario.assertions {
        Some(assertions) if subject.changes_files() => assertions::check(assertions, workspace),
        _ => Vec::new(),
    };
    if problems.is_empty() {
        Ok(())
    } else {
        Err(ScenarioFailure::Files(problems))
    }
}

fn options(
    scenario: &Scenario,
    workspace: &ScenarioWorkspace,
) -> Result<SessionOptions, ScenarioFailure> {
    let mut options = SessionOptions::in_dir(workspace.path());
    // The workspace is the scenario's own, and scenarios are about what agents do.
    options.permissions = PermissionPolicy::Allow;
    let names = scenario
        .setup
        .iter()
        .filter_map(|setup| setup.mcp_servers.as_ref())
        .flatten();
    options.mcp_servers = names.map(|name| server(name)).collect::<Result<_, _>>()?;
    Ok(options)
}

fn server(name: &str) -> Result<McpServer, ScenarioFailure> {
    windlass_mcp::demo::server(name).ok_or_else(|| {
        ScenarioFailure::Setup(format!("no demonstration server is called {name:?}"))
    })
}

/// Everything the turns of a scenario share.
struct ScenarioRun<'a> {
    handle: &'a AgentHandle,
    scenario: &'a Scenario,
    workspace: &'a ScenarioWorkspace,
    options: SessionOptions,
    head_start: Duration,
}

impl ScenarioRun<'_> {
    /// One turn, and what was expected of it.
    async fn turn(
        &self,
        session: &SessionId,
        prompt: &str,
        expected: &[EventMatcher],
    ) -> Result<(), ScenarioFailure> {
        let limit = self
            .scenario
            .timeout_ms
            .map_or(DEFAULT_TURN_TIMEOUT, Duration::from_millis);
        let limit = limit + self.head_start;
        let on_this_machine = |path: &str| self.workspace.to_local(path);
        let prompt = workspace::localized(self.scenario, prompt, on_this_machine);
        let prompt = Prompt::from(prompt).with_timeout(limit);
        let said = |error: windlass_core::Error| ScenarioFailure::Setup(error.to_string());
        let turn = self.handle.prompt(session, prompt).await.map_err(said)?;
        let seen = self.watch(session, turn).await;
        let expected = self.localized(expected);
        let found = matching::find(&expected, &seen);
        if found.missing.is_none() {
            return Ok(());
        }
        Err(ScenarioFailure::Events {
            expected,
            seen,
            found,
        })
    }

    /// All events of the turn, which is cancelled where the scenario says so.
    async fn watch(&self, session: &SessionId, mut turn: EventReceiver) -> Vec<AgentEvent> {
        let mut seen = Vec::new();
        let mut cancel_on = self.scenario.cancel_on.as_ref();
        while let Some(event) = turn.recv().await {
            if cancel_on.is_some_and(|matcher| matcher.matches(&event)) {
                cancel_on = None;
                // A turn that is over cannot be cancelled, and need not be.
                let _ = self.handle.cancel(session).await;
            }
            seen.push(event);
        }
        seen
    }

    async fn next_session(
        &self,
        before: SessionId,
        wanted: FollowUpSession,
    ) -> Result<SessionId, ScenarioFailure> {
        let said = |error: windlass_core::Error| ScenarioFailure::Setup(error.to_string());
        match wanted {
            FollowUpSession::Same => Ok(before),
            FollowUpSession::New => self
                .handle
                .new_session(self.options.clone())
                .await
                .map_err(said),
            FollowUpSession::Unknown => Ok("00000000-0000-4000-8000-000000000000".into()),
            FollowUpSession::Loaded => {
                self.handle
                    .load_session(&before, self.options.clone())
                    .await
                    .map_err(said)?;
                Ok(before)
            }
        }
    }

    /// The matchers with the scenario's paths from the root as paths from the workspace: an agent may name a file
    /// either way, and both hold these.
    fn localized(&self, expected: &[EventMatcher]) -> Vec<EventMatcher> {
        let from_here = |path: &str| path.trim_start_matches('/').to_owned();
        let mut expected = expected.to_vec();
        for matcher in &mut expected {
            if let EventMatcher::ToolStart {
                input_contains: Some(pattern),
                ..
            } = matcher
            {
                let text = workspace::localized(self.scenario, &pattern.to_string(), from_here);
                if let Ok(local) = serde_json::from_str(&text) {
                    *pattern = local;
                }
            }
        }
        expected
    }
}
