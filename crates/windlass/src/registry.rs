//! Registers every backend.

use std::sync::Arc;

use serde_json::Value;
use windlass_agents::invoke::{CodexCliBackend, CursorCliBackend, cursor_backend_from_settings};
use windlass_agents::model::{self, ModelKind};
use windlass_agents::{AgentContext, acp, cli};
use windlass_core::registry::Export;
use windlass_core::{AgentHandle, AgentRegistry, Error, InvocationBackend, Toolbox};
use windlass_sandbox::{Host, Mechanism, Sandbox};
use windlass_testkit::{MockAgent, ReplayAgent};
use windlass_tools::LocalTools;

use crate::config::{Config, Inputs, SandboxMechanism};

/// Returns a registry with every backend that is not a program. Add your own with
/// [`register`](AgentRegistry::register) and pass the registry to [`cli::main`](crate::cli::main), which adds the
/// agents that are programs.
pub fn default_registry() -> AgentRegistry {
    AgentRegistry::new()
        .register("mock", MockAgent::factory())
        .register("replay", ReplayAgent::factory())
        .export("windlass", "mock", Export::of::<MockAgent>())
}

/// Returns a registry with every backend: those of [`default_registry`], and the agents and models of this machine, with
/// the configuration of the current directory. A backend that cannot be used here is an error when it is created.
pub async fn local_registry() -> AgentRegistry {
    let inputs = Inputs::from_process().unwrap_or_default();
    let machine = match Config::load(&inputs) {
        Ok(config) => agent_context(&Arc::new(config), &inputs).await,
        Err(error) => Err(error.to_string()),
    };
    with_invocation_backends(with_local_agents(default_registry(), &machine), &machine)
}

/// Exports the backends that run a task as one program run, for
/// [`load_invocation_backend`](AgentRegistry::load_invocation_backend).
fn with_invocation_backends(
    registry: AgentRegistry,
    machine: &Result<AgentContext, String>,
) -> AgentRegistry {
    let codex = invocation_export("codex", machine, CodexCliBackend::new);
    let cursor = invocation_export("cursor", machine, CursorCliBackend::new);
    let from_settings = invocation_export("cursor", machine, cursor_backend_from_settings);
    registry
        .export("windlass", "CodexCliBackend", codex)
        .export("windlass", "CursorCliBackend", cursor)
        .export("windlass", "cursor_backend_from_settings", from_settings)
}

/// Exports an invocation backend that needs this machine.
fn invocation_export<B: InvocationBackend + 'static>(
    name: &'static str,
    machine: &Result<AgentContext, String>,
    make: fn(AgentContext) -> B,
) -> Export {
    let machine = machine.clone();
    Export::invocation_factory(move || match &machine {
        Ok(context) => Ok(make(context.clone())),
        Err(problem) => Err(Error::Unavailable {
            backend: name.to_owned(),
            problem: problem.clone(),
        }),
    })
}

/// Returns what agent programs need on this machine: a sandbox, keys, and a state directory.
///
/// The error is the reason why no program can be started.
pub(crate) async fn agent_context(
    config: &Arc<Config>,
    inputs: &Inputs,
) -> Result<AgentContext, String> {
    let sandbox = sandbox(config).await?;
    let config = Arc::clone(config);
    let state = inputs
        .state_dir()
        .ok_or("no state directory: set HOME or XDG_STATE_HOME")?;
    let secrets = move |name: &str| config.secret(name);
    Ok(AgentContext::new(sandbox, state.join("agents")).with_secrets(secrets))
}

/// Returns only the sandbox, for a program that is not an agent.
pub(crate) async fn sandbox(config: &Config) -> Result<Sandbox, String> {
    let readable = config.sandbox.readable.iter().flatten();
    let host = Host::current()
        .with_readable(readable)
        .with_hidden(&config.server.tls_key);
    let mechanism = match config.sandbox.mechanism {
        SandboxMechanism::Auto => None,
        SandboxMechanism::Bubblewrap => Some(Mechanism::Bubblewrap),
        SandboxMechanism::Landlock => Some(Mechanism::Landlock),
        SandboxMechanism::None => Some(Mechanism::None),
    };
    let sandbox = match mechanism {
        Some(mechanism) => Sandbox::with_mechanism(host, mechanism).await,
        None => Sandbox::detect(host).await,
    };
    let sandbox = sandbox.map_err(|error| error.to_string())?;
    Ok(sandbox.with_limits(config.sandbox_limits()))
}

/// Adds the agents that are programs or models to the registry. It does not replace a backend
/// with the same name.
pub(crate) fn with_local_agents(
    mut registry: AgentRegistry,
    machine: &Result<AgentContext, String>,
) -> AgentRegistry {
    for profile in cli::PROFILES {
        registry = register_or_error(registry, profile.name(), machine, |context| {
            cli::factory(profile, context)
        });
    }
    for kind in ModelKind::ALL {
        registry = register_or_error(registry, kind.name(), machine, |context| {
            let tools = toolbox(&context);
            model::factory(kind, context, tools)
        });
    }
    // An agent with a CLI profile uses ACP under the same name if `transport = "acp"` is set.
    for preset in acp::PRESETS {
        registry = register_or_error(registry, preset.name(), machine, |context| {
            acp::factory(Some(preset), context)
        });
    }
    registry = register_or_error(registry, "acp", machine, |context| {
        acp::factory(None, context)
    });
    register_or_error(
        registry,
        "direct",
        machine,
        windlass_agents::direct::factory,
    )
}

/// Returns the names of the backends that [`with_local_agents`] adds.
pub(crate) fn local_backends() -> impl Iterator<Item = &'static str> {
    let programs = cli::PROFILES.iter().map(|profile| profile.name());
    let models = ModelKind::ALL.into_iter().map(ModelKind::name);
    let presets = acp::PRESETS.iter().map(|preset| preset.name());
    let others = ["acp", "direct"].into_iter();
    programs.chain(models).chain(presets).chain(others)
}

/// Creates the tools that models may use in a directory.
fn toolbox(context: &AgentContext) -> Arc<dyn Toolbox> {
    Arc::new(LocalTools::new(context.sandbox().clone()))
}

/// Adds a backend that needs this machine, or a factory that returns the reason why it is unavailable. It
/// does not replace a backend with the same name.
fn register_or_error<F>(
    registry: AgentRegistry,
    name: &'static str,
    machine: &Result<AgentContext, String>,
    factory: impl FnOnce(AgentContext) -> F,
) -> AgentRegistry
where
    F: Fn(&Value) -> windlass_core::Result<AgentHandle> + Send + Sync + 'static,
{
    if registry.available().contains(&name) {
        return registry;
    }
    match machine {
        Ok(context) => registry.register(name, factory(context.clone())),
        Err(problem) => {
            let error = Error::Unavailable {
                backend: name.to_owned(),
                problem: problem.clone(),
            };
            registry.register(name, move |_| Err(error.clone()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn invocation_backends_are_loaded_by_reference() {
        let registry = local_registry().await;
        for reference in [
            "windlass:CodexCliBackend",
            "windlass.CursorCliBackend",
            "windlass:cursor_backend_from_settings",
        ] {
            let loaded = registry.load_invocation_backend(reference, "coder");
            assert!(loaded.is_ok(), "{reference}: {:?}", loaded.err());
        }
        let error = registry
            .load_agent_backend("windlass:CodexCliBackend", "coder")
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "coder: windlass:CodexCliBackend is an invocation backend without sessions, not an agent backend"
        );
    }
}
