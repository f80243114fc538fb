//! Who is examined.

use futures::future::BoxFuture;
use windlass_core::{AgentHandle, Result};

use super::CaseScript;

/// A backend that can be set up for each case.
///
/// A function from a [`Stage`] to a handle is one, for backends without processes.
pub trait BackendUnderTest: Send + Sync {
    /// A new agent that will do what the stage says. Its handle waits by tokio's clock.
    fn agent<'a>(&'a self, stage: &'a CaseScript) -> BoxFuture<'a, Result<AgentHandle>>;

    /// The processes of the agents made so far that are alive, each in a few words.
    fn live_processes(&self) -> Vec<String> {
        Vec::new()
    }
}

impl<F> BackendUnderTest for F
where
    F: Fn(&CaseScript) -> Result<AgentHandle> + Send + Sync,
{
    fn agent<'a>(&'a self, stage: &'a CaseScript) -> BoxFuture<'a, Result<AgentHandle>> {
        Box::pin(async move { self(stage) })
    }
}
