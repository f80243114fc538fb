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

mod candidate;
mod case;
mod cases;
mod report;
mod stage;
mod told;
mod trial;

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{Clock, SystemClock};

pub use candidate::Candidate;
use case::{Case, Stop};
pub use report::{Matrix, Report, Row, Verdict};
pub use stage::{Act, Scene, Stage};
use trial::Trial;

/// The longest that a case may take.
const CASE: Duration = Duration::from_secs(120);
/// The longest that a process may outlive its agent.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// Runs every case, one after the other, each on an agent of its own.
pub async fn exercise(candidate: &impl Candidate) -> Report {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let mut report = Report::default();
    for case in cases::all() {
        let verdict = run(candidate, &case, &clock, &mut report).await;
        report.push(&case, verdict);
    }
    report
}

async fn run(
    candidate: &impl Candidate,
    case: &Case,
    clock: &Arc<dyn Clock>,
    report: &mut Report,
) -> Verdict {
    let stage = case.stage();
    let agent = match candidate.agent(&stage).await {
        Ok(agent) => agent,
        Err(error) => return Verdict::Failed(format!("there is no agent for the case: {error}")),
    };
    report.name(agent.name());
    let trial = Trial::new(agent, Arc::clone(clock), stage);
    let mut verdict = tokio::select! {
        checked = (case.check)(&trial) => checked.map_or_else(Verdict::from, |()| Verdict::Passed),
        () = clock.sleep(CASE) => {
            Verdict::Failed(format!("the case did not end within {} s", CASE.as_secs()))
        }
    };
    drop(trial);
    if let Err(Stop::Failed(left)) = all_gone(candidate, clock).await {
        // A failure that was found before says more.
        if !matches!(verdict, Verdict::Failed(_)) {
            verdict = Verdict::Failed(left);
        }
    }
    verdict
}

/// Waits until the agent's processes are gone.
async fn all_gone(candidate: &impl Candidate, clock: &Arc<dyn Clock>) -> case::Checked {
    let since = clock.elapsed();
    loop {
        let left = candidate.processes();
        if left.is_empty() {
            return Ok(());
        }
        if clock.elapsed().saturating_sub(since) > LAST_BREATH {
            return Err(Stop::Failed(format!(
                "these processes outlived the agent by {} s: {}",
                LAST_BREATH.as_secs(),
                left.join(", ")
            )));
        }
        clock.sleep(LAST_BREATH / 20).await;
    }
}
