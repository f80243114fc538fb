//! Resources that agents get from the surrounding program.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use windlass_core::{Clock, SecretString, SystemClock};
use windlass_sandbox::Sandbox;

use crate::bridge::ModelBridge;

/// Looks up a secret by the name of its environment variable.
type SecretLookup = dyn Fn(&str) -> Option<SecretString> + Send + Sync;

/// Default time that an agent process waits for the next prompt.
const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Resources shared by all agents of a program: the sandbox, the secrets and a state directory.
#[derive(Clone)]
pub struct AgentContext {
    sandbox: Sandbox,
    state_dir: PathBuf,
    secrets: Arc<SecretLookup>,
    dir: Option<PathBuf>,
    clock: Arc<dyn Clock>,
    idle_timeout: Duration,
    bridge: Option<Arc<dyn ModelBridge>>,
}

impl AgentContext {
    /// Creates a context. Its agents run in this sandbox and store their homes and sessions under `state`.
    ///
    /// Secrets are read from the environment of the sandbox's host. The state directory is created on first
    /// use. It must not be in a directory for temporary files, because agents see an empty one instead.
    pub fn new(sandbox: Sandbox, state_dir: impl Into<PathBuf>) -> Self {
        let host = sandbox.host().clone();
        let secrets = move |name: &str| {
            let value = host.variable(name)?.to_str()?;
            (!value.is_empty()).then(|| SecretString::from(value))
        };
        Self {
            sandbox,
            state_dir: state_dir.into(),
            secrets: Arc::new(secrets),
            dir: None,
            clock: Arc::new(SystemClock::new()),
            idle_timeout: DEFAULT_IDLE_TIMEOUT,
            bridge: None,
        }
    }

    /// Sets the working directory of sessions that do not name one. The default is the current directory of
    /// this program.
    #[must_use]
    pub fn in_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// Uses this clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets how long an agent process waits for the next prompt of its session. The default is one minute.
    #[must_use]
    pub fn with_idle_timeout(mut self, idle_timeout: Duration) -> Self {
        self.idle_timeout = idle_timeout;
        self
    }

    /// Lets agents call their providers through this bridge.
    #[must_use]
    pub fn with_bridge(mut self, bridge: Arc<dyn ModelBridge>) -> Self {
        self.bridge = Some(bridge);
        self
    }

    /// Looks up secrets with this function instead of the host's environment.
    #[must_use]
    pub fn with_secrets(
        mut self,
        secrets: impl Fn(&str) -> Option<SecretString> + Send + Sync + 'static,
    ) -> Self {
        self.secrets = Arc::new(secrets);
        self
    }

    /// Returns the sandbox that starts the agents' processes.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Returns the directory that holds the agents' state.
    pub fn state_dir(&self) -> &Path {
        &self.state_dir
    }

    /// Returns the name of the user who runs this program.
    pub(crate) fn user(&self) -> Option<String> {
        let user = self.sandbox.host().variable("USER")?;
        user.to_str().map(str::to_owned)
    }

    /// Returns the clock.
    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Returns how long an agent process waits for the next prompt.
    pub(crate) fn idle_timeout(&self) -> Duration {
        self.idle_timeout
    }

    /// Returns the bridge through which agents call their providers.
    pub(crate) fn bridge(&self) -> Option<&Arc<dyn ModelBridge>> {
        self.bridge.as_ref()
    }

    /// Returns the working directory of sessions that do not name one.
    pub(crate) fn working_dir(&self) -> std::io::Result<PathBuf> {
        self.dir.clone().map_or_else(std::env::current_dir, Ok)
    }

    /// Returns the secret in this environment variable, if it is set and not empty.
    pub fn secret(&self, variable: &str) -> Option<SecretString> {
        (self.secrets)(variable)
    }
}

impl fmt::Debug for AgentContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentContext")
            .field("sandbox", &self.sandbox.mechanism())
            .field("state", &self.state_dir)
            .finish_non_exhaustive()
    }
}
