//! A task's place to work: paths that cannot leave it, an own clone, the tests, the merge.
//!
//! The major parts are: [`Clones`], which gives each attempt a clone of its own; [`Tests`], which knows how a
//! project is tested and does it; [`merge`](Clones::merge) and [`verify`](Clones::verify), for a change that is
//! done.
//!
//! What it does not do: it starts no agent, keeps no task, and never touches the user's checkout but in a
//! merge that was asked for.

mod change;
mod clone;
mod diff;
mod error;
mod git;
mod merge;
pub mod paths;
mod publish;
mod test_runner;
mod verify;

pub use clone::{AttemptClone, Clones, readable_dirs};
pub use error::{Error, Result};
pub use git::head_commit;
pub use merge::{MergeOutcome, Merged};
pub use test_runner::{TestRunner, TestSettings};
pub use verify::Verification;

/// Runs file work on a thread that may wait.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(Error::Path {
            path: "a thread".into(),
            problem: error.to_string(),
        }),
    }
}
