//! What an agent needs from the program around it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use windlass_core::{Clock, SecretString, SystemClock};
use windlass_sandbox::Sandbox;

/// Finds a secret by the name of its variable.
type SecretLookup = dyn Fn(&str) -> Option<SecretString> + Send + Sync;

/// How long a process waits for a next prompt, where nobody says.
const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// What every agent of a program shares: the sandbox, the secrets, and a folder for what must be kept.
#[derive(Clone)]
pub struct AgentContext {
    sandbox: Sandbox,
    state: PathBuf,
    secrets: Arc<SecretLookup>,
    folder: Option<PathBuf>,
    clock: Arc<dyn Clock>,
    warm: Duration,
}

impl AgentContext {
    /// Agents behind this sandbox, whose own homes and sessions are kept under `state`.
    ///
    /// Secrets are looked for in the environment of the sandbox's host. The folder is made when it is needed; it must
    /// not lie in a folder for temporary files, which agents see an empty one of.
    pub fn new(sandbox: Sandbox, state: impl Into<PathBuf>) -> Self {
        let host = sandbox.host().clone();
        let secrets = move |name: &str| {
            let value = host.variable(name)?.to_str()?;
            (!value.is_empty()).then(|| SecretString::from(value))
        };
        Self {
            sandbox,
            state: state.into(),
            secrets: Arc::new(secrets),
            folder: None,
            clock: Arc::new(SystemClock::new()),
            warm: DEFAULT_IDLE_TIMEOUT,
        }
    }

    /// Where agents work whose session does not say; otherwise where this program does.
    #[must_use]
    pub fn in_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Takes the time from this clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Lets a process wait so long for the next prompt of its session; a minute where nobody says.
    #[must_use]
    pub fn with_idle_timeout(mut self, idle: Duration) -> Self {
        self.warm = idle;
        self
    }

    /// Looks for secrets elsewhere.
    #[must_use]
    pub fn with_secrets(
        mut self,
        secrets: impl Fn(&str) -> Option<SecretString> + Send + Sync + 'static,
    ) -> Self {
        self.secrets = Arc::new(secrets);
        self
    }

    /// What starts the agents' processes.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Where agents keep what is theirs.
    pub fn state_dir(&self) -> &Path {
        &self.state
    }

    /// What time it is.
    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// How long a process waits for a next prompt.
    pub(crate) fn idle_timeout(&self) -> Duration {
        self.warm
    }

    /// Where agents work whose session does not say.
    pub(crate) fn working_dir(&self) -> std::io::Result<PathBuf> {
        self.folder.clone().map_or_else(std::env::current_dir, Ok)
    }

    /// The secret in this variable.
    pub fn secret(&self, variable: &str) -> Option<SecretString> {
        (self.secrets)(variable)
    }
}

impl fmt::Debug for AgentContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentContext")
            .field("sandbox", &self.sandbox.mechanism())
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
