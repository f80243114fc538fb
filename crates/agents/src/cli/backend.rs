//! An agent program as an [`AgentBackend`].

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use windlass_core::{
    AgentBackend, AgentHandle, Capabilities, EventStream, Prompt, Result, SessionId,
    SessionOptions, TurnLimits,
};

use super::driver::CliDriver;
use super::installation::CliInstallation;
use super::plain_text;
use super::profile::{CliProfile, IoMode};
use super::turn::CliTurn;
use crate::program::{Installation, find, login, model_access};
use crate::{AgentContext, ProgramSettings};

/// One agent program with its settings.
pub struct CliBackend {
    driver: Arc<CliDriver>,
}

impl CliBackend {
    /// Creates a backend for the agent of this profile.
    pub fn new(
        profile: &'static CliProfile,
        settings: ProgramSettings,
        context: AgentContext,
    ) -> Self {
        Self {
            driver: Arc::new(CliDriver::new(profile, settings, context)),
        }
    }
}

impl AgentBackend for CliBackend {
    fn name(&self) -> &'static str {
        self.driver.profile.name()
    }

    /// Until the program has been searched for, these are the capabilities of its best transport.
    fn capabilities(&self) -> Capabilities {
        let settings = &self.driver.settings;
        let wanted = settings.transport.as_deref();
        let expected = self
            .driver
            .profile
            .usable_transports(settings)
            .find(|transport| wanted.is_none_or(|name| transport.name == name));
        match self.driver.cached_installation() {
            Some(installation) => installation.capabilities(),
            None => expected
                .map(|transport| transport.capabilities)
                .unwrap_or_default(),
        }
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(self.driver.new_session(options))
    }

    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.driver.load_session(id, options))
    }

    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        Box::pin(async move {
            let installation = self.driver.installation().await?.clone();
            let driver = Arc::clone(&self.driver);
            match installation.transport.io {
                IoMode::PlainText => plain_text::start(driver, &installation, id, prompt),
                _ => CliTurn::start(driver, installation, id, prompt),
            }
        })
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.driver.sessions.get(self.name(), id)?.stop();
            Ok(())
        })
    }

    fn scoped(&self) -> Option<Arc<dyn AgentBackend>> {
        let driver = Arc::new(self.driver.scoped());
        Some(Arc::new(Self { driver }))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.driver.close())
    }
}

impl std::fmt::Debug for CliBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CliBackend")
            .field("name", &self.driver.profile.name())
            .field("settings", &self.driver.settings)
            .finish_non_exhaustive()
    }
}

/// Returns a factory that creates agents of this profile from their configuration.
///
/// With `transport = "acp"`, an agent that supports ACP is driven over ACP under the same name.
pub fn factory(
    profile: &'static CliProfile,
    context: AgentContext,
) -> impl Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static {
    move |config| {
        let mut settings = ProgramSettings::from_value(config)?;
        #[cfg(feature = "acp")]
        if let Some(preset) = settings.acp_preset(profile.name()) {
            return crate::acp::factory(Some(preset), context.clone())(config);
        }
        model_access::check_endpoint(profile.program, &settings)?;
        if let Some(default) = &profile.default_model {
            let model = settings.model.take();
            settings.model = model.or_else(|| Some(default.get(&context)));
        }
        let timeout = settings.timeout();
        let handle = AgentHandle::wrap(CliBackend::new(profile, settings, context.clone()));
        Ok(match timeout {
            Some(deadline) => handle.with_limits(TurnLimits {
                deadline,
                ..handle.limits()
            }),
            None => handle,
        })
    }
}

/// Checks whether the agent is installed, and returns its version and transport. The error says how to install
/// it.
pub async fn probe(
    profile: &'static CliProfile,
    context: &AgentContext,
    config: &Value,
) -> Result<Installation> {
    let settings = ProgramSettings::from_value(config)?;
    let found = CliInstallation::find(profile, &settings, context).await?;
    let login = login::find(profile.program, &settings, context);
    Ok(found.into_installation(profile, login))
}

/// Finds the program of the agent, without starting it. The error says how to install it.
pub fn find_program(
    profile: &'static CliProfile,
    context: &AgentContext,
    config: &Value,
) -> Result<String> {
    let settings = ProgramSettings::from_value(config)?;
    find::find(profile.program, &settings, context).map(str::to_owned)
}
