//! Runs scenarios.

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

/// The default time limit of a turn.
const DEFAULT_TURN_TIMEOUT: Duration = Duration::from_secs(60);

/// Runs every scenario in a directory with one agent.
pub async fn run_scenarios(
    handle: &AgentHandle,
    scenarios_dir: &Path,
) -> Result<ScenarioReport, LoadError> {
    run_scenarios_on(handle, scenarios_dir).await
}

/// Runs every scenario in a directory, each with its own agent of the subject.
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
    let workspace = ScenarioWorkspace::new(scenario)
        .await
        .map_err(ScenarioFailure::Setup)?;
    let scenario = &workspace
        .restored(scenario)
        .map_err(ScenarioFailure::Setup)?;
    let context = ScenarioContext {
        scenario,
        file,
        workspace: workspace.path(),
    };
    let result = run_in(subject, context, &workspace).await;
    let removed = workspace.remove().map_err(ScenarioFailure::Setup);
    result.and(removed)
}

async fn run_in(
    subject: &dyn ScenarioSubject,
    context: ScenarioContext<'_>,
    workspace: &ScenarioWorkspace,
) -> Result<(), ScenarioFailure> {
    let scenario = context.scenario;
    let to_failure = |error: windlass_core::Error| ScenarioFailure::Setup(error.to_string());
    let mut prepared = subject.prepare(context).await.map_err(to_failure)?;
    let run = ScenarioRun {
        handle: &prepared.handle,
        scenario,
        workspace,
        options: options(scenario, workspace)?,
        extra_time: subject.extra_time(),
    };
    let mut session = run
        .handle
        .new_session(run.options.clone())
        .await
        .map_err(to_failure)?;
    run.turn(&session, &scenario.prompt, &scenario.expected_events)
        .await?;
    for next in &scenario.then {
        session = run.next_session(session, next.session).await?;
        run.turn(&session, &next.prompt, &next.expected_events)
            .await?;
    }
    if let Some(end) = prepared.end.take() {
        end().map_err(to_failure)?;
    }
    let problems = match &scenario.assertions {
        Some(assertions) if subject.changes_files() => {
            assertions::check(assertions, workspace).await
        }
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
    // The workspace belongs to the scenario, and scenarios are about what agents do.
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
    windlass_mcp::demo::server(name)
        .ok_or_else(|| ScenarioFailure::Setup(format!("unknown demonstration server: {name:?}")))
}

/// What the turns of a scenario share.
struct ScenarioRun<'a> {
    handle: &'a AgentHandle,
    scenario: &'a Scenario,
    workspace: &'a ScenarioWorkspace,
    options: SessionOptions,
    extra_time: Duration,
}

impl ScenarioRun<'_> {
    /// Runs one turn and checks its events.
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
        let limit = limit + self.extra_time;
        let to_local = |path: &str| self.workspace.to_local(path);
        let prompt = workspace::localized(self.scenario, prompt, to_local);
        let prompt = Prompt::from(prompt).with_timeout(limit);
        let to_failure = |error: windlass_core::Error| ScenarioFailure::Setup(error.to_string());
        let turn = self
            .handle
            .prompt(session, prompt)
            .await
            .map_err(to_failure)?;
        let actual = self.watch(session, turn).await;
        let expected = self.localized(expected);
        let matched = matching::find(&expected, &actual);
        if matched.missing.is_none() {
            return Ok(());
        }
        Err(ScenarioFailure::Events {
            expected,
            actual,
            result: matched,
        })
    }

    /// Returns all events of the turn, which is cancelled where the scenario requests it.
    async fn watch(&self, session: &SessionId, mut turn: EventReceiver) -> Vec<AgentEvent> {
        let mut actual = Vec::new();
        let mut cancel_on = self.scenario.cancel_on.as_ref();
        while let Some(event) = turn.recv().await {
            if cancel_on.is_some_and(|matcher| matcher.matches(&event)) {
                cancel_on = None;
                // A turn that is over cannot be cancelled, and need not be.
                let _ = self.handle.cancel(session).await;
            }
            actual.push(event);
        }
        actual
    }

    async fn next_session(
        &self,
        before: SessionId,
        wanted: FollowUpSession,
    ) -> Result<SessionId, ScenarioFailure> {
        let to_failure = |error: windlass_core::Error| ScenarioFailure::Setup(error.to_string());
        match wanted {
            FollowUpSession::Same => Ok(before),
            FollowUpSession::New => self
                .handle
                .new_session(self.options.clone())
                .await
                .map_err(to_failure),
            FollowUpSession::Unknown => Ok("00000000-0000-4000-8000-000000000000".into()),
            FollowUpSession::Loaded => {
                self.handle
                    .load_session(&before, self.options.clone())
                    .await
                    .map_err(to_failure)?;
                Ok(before)
            }
        }
    }

    /// Returns the matchers with the scenario's absolute paths relative to the workspace: an agent
    /// may use either form, and both contain the relative one.
    fn localized(&self, expected: &[EventMatcher]) -> Vec<EventMatcher> {
        let relative = |path: &str| path.trim_start_matches('/').to_owned();
        let mut expected = expected.to_vec();
        for matcher in &mut expected {
            if let EventMatcher::ToolStart {
                input_contains: Some(pattern),
                ..
            } = matcher
            {
                let text = workspace::localized(self.scenario, &pattern.to_string(), relative);
                if let Ok(local) = serde_json::from_str(&text) {
                    *pattern = local;
                }
            }
        }
        expected
    }
}
