//! The conformance suite for backends.
//!
//! [`exercise`] asks a [`BackendUnderTest`] for one agent per case, passes it in advance what that
//! agent has to do (the [`CaseScript`]), and checks what leaves the handle. The handle repairs many
//! errors of a backend. The cases look for errors that it cannot repair, and for the traces that a
//! repair leaves: text that lost a chunk, usage that adds up over turns, a cancellation that takes
//! effect only after the grace period, the wrong session.
//!
//! Each case passes, fails with a message, or is unsupported: the backend cannot do it, its
//! [`Capabilities`](windlass_core::Capabilities) exclude it, and where it can be requested the
//! backend returns a typed error.
//!
//! ```
//! use windlass_core::AgentHandle;
//! use windlass_testkit::conformance::{self, CaseScript};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let backend = |script: &CaseScript| Ok(AgentHandle::wrap(script.mock()));
//! let report = conformance::exercise(&backend).await;
//! assert!(report.passed(), "{report}");
//! # }
//! ```

mod case;
mod cases;
mod check;
mod report;
mod runner;
mod script;
mod subject;
mod turn_log;

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{Clock, SystemClock};

use case::Case;
use check::{CaseStop, CheckResult};
pub use report::{CaseResult, Matrix, Report, Verdict};
use runner::CaseRunner;
pub use script::{Action, CaseScript, ScriptedTurn};
pub use subject::BackendUnderTest;

/// Time limit of a case.
const CASE_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a process may outlive its agent.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs every case sequentially, each on a new agent.
pub async fn exercise(backend: &impl BackendUnderTest) -> Report {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let mut report = Report::default();
    for case in cases::all() {
        let verdict = run(backend, &case, &clock, &mut report).await;
        report.push(CaseResult {
            group: case.group,
            name: case.name,
            verdict,
        });
    }
    report
}

async fn run(
    backend: &impl BackendUnderTest,
    case: &Case,
    clock: &Arc<dyn Clock>,
    report: &mut Report,
) -> Verdict {
    let script = case.script();
    let agent = match backend.agent(&script).await {
        Ok(agent) => agent,
        Err(error) => return Verdict::Failed(format!("no agent for the case: {error}")),
    };
    report.name(agent.name());
    let runner = CaseRunner::new(agent, Arc::clone(clock), script);
    let mut verdict = tokio::select! {
        checked = (case.check)(&runner) => checked.map_or_else(Verdict::from, |()| Verdict::Passed),
        () = clock.sleep(CASE_TIMEOUT) => {
            Verdict::Failed(format!("the case did not end within {} s", CASE_TIMEOUT.as_secs()))
        }
    };
    drop(runner);
    if let Err(CaseStop::Failed(left)) = wait_for_exit(backend, clock).await {
        // An earlier failure is more informative.
        if !matches!(verdict, Verdict::Failed(_)) {
            verdict = Verdict::Failed(left);
        }
    }
    verdict
}

/// Waits until the agent's processes have exited.
async fn wait_for_exit(backend: &impl BackendUnderTest, clock: &Arc<dyn Clock>) -> CheckResult {
    let since = clock.elapsed();
    loop {
        let left = backend.live_processes();
        if left.is_empty() {
            return Ok(());
        }
        if clock.elapsed().saturating_sub(since) > EXIT_TIMEOUT {
            return Err(CaseStop::Failed(format!(
                "these processes outlived the agent by {} s: {}",
                EXIT_TIMEOUT.as_secs(),
                left.join(", ")
            )));
        }
        clock.sleep(EXIT_TIMEOUT / 20).await;
    }
}
