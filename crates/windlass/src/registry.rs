//! The one place where every backend is registered.

use windlass_core::AgentRegistry;
use windlass_core::registry::Export;
use windlass_testkit::{MockAgent, ReplayAgent};

/// Every backend that Windlass comes with. Add your own with
/// [`register`](AgentRegistry::register) and pass it to [`cli::main`](crate::cli::main).
pub fn default_registry() -> AgentRegistry {
    AgentRegistry::new()
        .register("mock", MockAgent::factory())
        .register("replay", ReplayAgent::factory())
        .export("windlass", "mock", Export::of::<MockAgent>())
}
