//! The backend under test.

use futures::future::BoxFuture;
use windlass_core::{AgentHandle, Result};

use super::CaseScript;

/// A backend that can be set up for each case.
///
/// For backends without processes, a function from a [`CaseScript`] to a handle is enough.
pub trait BackendUnderTest: Send + Sync {
    /// Creates an agent that follows the script. Its handle must use Tokio's clock.
    fn agent<'a>(&'a self, script: &'a CaseScript) -> BoxFuture<'a, Result<AgentHandle>>;

    /// Returns the live processes of the agents created so far, each as a short text.
    fn live_processes(&self) -> Vec<String> {
        Vec::new()
    }
}

impl<F> BackendUnderTest for F
where
    F: Fn(&CaseScript) -> Result<AgentHandle> + Send + Sync,
{
    fn agent<'a>(&'a self, script: &'a CaseScript) -> BoxFuture<'a, Result<AgentHandle>> {
        Box::pin(async move { self(script) })
    }
}
