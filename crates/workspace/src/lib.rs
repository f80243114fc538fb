//! Working copies for task attempts: confined paths, private clones, test runs and merges.
//!
//! The main types are [`Clones`], which gives each attempt a private clone, and [`TestRunner`],
//! which detects a project's test command and runs it. [`Judge`] tests the commits of attempts in fresh
//! checkouts. [`merge`](Clones::merge) and
//! [`verify`](Clones::verify) work on a finished change.
//!
//! Out of scope: the crate starts no agent, stores no task, and never touches the user's checkout
//! except in a requested merge, landing or undo.

mod change;
mod checkout_files;
mod clone;
mod diff;
mod error;
mod git;
mod judge;
mod keep;
mod land;
mod last_use;
mod merge;
mod nested;
pub mod paths;
mod publish;
mod readiness;
mod setup;
mod snapshots;
mod stack;
mod test_runner;
mod verify;
mod versions;

pub use change::is_test_file;
pub use clone::{AttemptClone, Clones, Prepared, Retention, readable_dirs};
pub use error::{Error, Result};
pub use git::{SAFE_SETTINGS, SAFE_VARIABLES, head_commit};
pub use judge::{Judge, proposed_settings};
pub use merge::{MergeOutcome, Merged};
pub use nested::new_repositories;
pub use setup::{Preparation, Source};
pub use snapshots::{DirSnapshots, Restored, Snapshot};
pub use test_runner::{TestProposal, TestRunner, TestSettings, propose_tests};
pub use verify::Verification;
pub use versions::ReadCheckout;

/// Runs file operations on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(Error::Path {
            path: "worker thread".into(),
            problem: error.to_string(),
        }),
    }
}
