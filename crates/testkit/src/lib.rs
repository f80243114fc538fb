//! Test tools for programs built on agents: agents with predefined behavior.
//!
//! The crate is for tests of Windlass and of other programs. Mocks and replays start no process; an
//! agent that plays a script runs its commands and MCP servers in the sandbox.
//!
//! The feature `scripted`, which is on by default, adds agents that play a script and scenarios.
//! Without it, the crate depends on `windlass-core` and `windlass-cassette` alone.
//!
//! ```
//! use windlass_core::{AgentHandle, ErrorCode, SessionOptions};
//! use windlass_testkit::MockAgent;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> windlass_core::Result<()> {
//! let mock = MockAgent::new()
//!     .on_prompt("weather").respond_text("Sunny.")
//!     .on_prompt("stocks").respond_error(ErrorCode::RateLimited, "try later");
//! let probe = mock.probe();
//!
//! let agent = AgentHandle::wrap(mock);
//! let session = agent.new_session(SessionOptions::default()).await?;
//! let events = agent.prompt(&session, "How is the weather?").await?.collect().await;
//! assert_eq!(events.len(), 2);
//!
//! let unmet = probe.verify().unwrap_err().to_string();
//! assert!(unmet.contains("stocks"), "{unmet}");
//! # Ok(())
//! # }
//! ```

mod clock;
pub mod conformance;
mod fn_agent;
mod mock;
mod record;
mod replay;
#[cfg(feature = "scripted")]
pub mod scenario;
#[cfg(feature = "scripted")]
mod scripted;
mod substitutions;

pub use clock::FakeClock;
pub use fn_agent::FnAgent;
pub use mock::{ExpectationBuilder, MockAgent, MockConfig, MockProbe, ToolCall, UnmetExpectations};
pub use record::{HandleBackend, Recording, RecordingAgent};
pub use replay::{ReplayAgent, ReplayConfig, Timing, read_cassette};
#[cfg(feature = "scripted")]
pub use scripted::ScriptedAgent;
pub use substitutions::local_substitutions;
