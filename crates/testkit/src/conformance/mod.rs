//! One suite for every backend.
//!
//! [`exercise`] asks a [`Candidate`] for one agent per case, tells it beforehand what that agent is to do
//! (the [`Stage`]), and looks at what leaves the handle. Much of what a backend does wrong the handle mends;
//! the cases look for what it cannot mend, and for the marks that mending leaves: a text that lost a piece,
//! usage that adds up over turns, a cancel that is only obeyed when the grace is over, the wrong session.
//!
//! Each case is passed, or failed with a sentence, or refused: the backend cannot do it, its
//! [`Capabilities`](windlass_core::Capabilities) say so, and where one can ask it answers with a typed error.
//!
//! ```
//! use windlass_core::AgentHandle;
//! use windlass_testkit::conformance::{self, Stage};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let candidate = |stage: &Stage| Ok(AgentHandle::wrap(stage.mock()));
//! let report = conformance::exercise(&candidate).await;
//! assert!(report.is_passed(), "{report}");
//! # }
//! ```

mod case;
mod cases;
mod report;
mod runner;
mod script;
mod subject;
mod turn_log;

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{Clock, SystemClock};

use case::{Case, CaseStop};
pub use report::{CaseResult, Matrix, Report, Verdict};
use runner::CaseRunner;
pub use script::{Action, CaseScript, ScriptedTurn};
pub use subject::BackendUnderTest;

/// The longest that a case may take.
const CASE_TIMEOUT: Duration = Duration::from_secs(120);
/// The longest that a process may outlive its agent.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs every case, one after the other, each on an agent of its own.
pub async fn exercise(candidate: &impl BackendUnderTest) -> Report {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let mut report = Report::default();
    for case in cases::all() {
        let verdict = run(candidate, &case, &clock, &mut report).await;
        report.push(&case, verdict);
    }
    report
}

async fn run(
    candidate: &impl BackendUnderTest,
    case: &Case,
    clock: &Arc<dyn Clock>,
    report: &mut Report,
) -> Verdict {
    let stage = case.script();
    let agent = match candidate.agent(&stage).await {
        Ok(agent) => agent,
        Err(error) => return Verdict::Failed(format!("there is no agent for the case: {error}")),
    };
    report.name(agent.name());
    let trial = CaseRunner::new(agent, Arc::clone(clock), stage);
    let mut verdict = tokio::select! {
        checked = (case.check)(&trial) => checked.map_or_else(Verdict::from, |()| Verdict::Passed),
        () = clock.sleep(CASE_TIMEOUT) => {
            Verdict::Failed(format!("the case did not end within {} s", CASE_TIMEOUT.as_secs()))
        }
    };
    drop(trial);
    if let Err(CaseStop::Failed(left)) = all_gone(candidate, clock).await {
        // A failure that was found before says more.
        if !matches!(verdict, Verdict::Failed(_)) {
            verdict = Verdict::Failed(left);
        }
    }
    verdict
}

/// Waits until the agent's processes are gone.
async fn all_gone(candidate: &impl BackendUnderTest, clock: &Arc<dyn Clock>) -> case::CheckResult {
    let since = clock.elapsed();
    loop {
        let left = candidate.live_processes();
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
