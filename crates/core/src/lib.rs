//! The types and traits that all crates of Windlass share.
//!
//! An [`AgentBackend`] answers prompts. All other code uses an [`AgentHandle`] and the [`AgentEvent`]s of
//! its turns. Each turn ends with exactly one terminal event, which is the last event.
//!
//! This crate starts no process and opens no file or socket.
//!
//! ```
//! use windlass_core::{AgentEvent, AgentHandle, SessionOptions};
//! # use windlass_core::{AgentBackend, Capabilities, EventStream, Prompt, Result, SessionId, ready_events};
//! # use futures::future::BoxFuture;
//! # struct Echo;
//! # impl AgentBackend for Echo {
//! #     fn name(&self) -> &'static str { "echo" }
//! #     fn capabilities(&self) -> Capabilities { Capabilities::default() }
//! #     fn new_session(&self, _: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
//! #         Box::pin(async { Ok("one".into()) })
//! #     }
//! #     fn load_session<'a>(&'a self, _: &'a SessionId, _: SessionOptions) -> BoxFuture<'a, Result<()>> {
//! #         Box::pin(async { Ok(()) })
//! #     }
//! #     fn prompt<'a>(&'a self, _: &'a SessionId, prompt: Prompt) -> BoxFuture<'a, Result<EventStream>> {
//! #         Box::pin(async { Ok(ready_events([AgentEvent::result(prompt.text)])) })
//! #     }
//! #     fn cancel<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<()>> {
//! #         Box::pin(async { Ok(()) })
//! #     }
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<()> {
//! let agent = AgentHandle::wrap(Echo);
//! let session = agent.new_session(SessionOptions::default()).await?;
//! let mut events = agent.prompt(&session, "hello").await?;
//! while let Some(event) = events.recv().await {
//!     if let AgentEvent::Result { text, .. } = event {
//!         assert_eq!(text, "hello");
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod backend;
mod backoff;
mod clock;
mod cut;
mod dir_access;
mod edit_mode;
mod error;
mod escape;
mod event;
mod event_part;
mod event_sink;
mod handle;
mod id;
pub mod limits;
mod lookup;
pub mod mask;
mod mcp_server;
mod network_setting;
pub mod permission;
mod plan;
mod prompt;
pub mod registry;
mod secret;
pub mod structured;
mod tool;
mod trace;
mod usage;
mod work_label;

pub use backend::{
    AgentBackend, BackendEvent, Capabilities, EventStream, SessionOptions, ready_events,
};
pub use backoff::Backoff;
pub use clock::{Clock, LeaseClock, SystemClock, Timestamp};
pub use cut::{cut_mark, cut_middle};
pub use dir_access::DirAccess;
pub use edit_mode::EditMode;
pub use error::{Error, ErrorCode, Result, Retry};
pub use escape::{escape_control, escape_json, escape_line};
pub use event::{AgentEvent, Envelope, PermissionKind, PermissionOption, PlanEntry, PlanStatus};
pub use event_part::{EventContent, EventPart};
pub use event_sink::{EventSink, event_stream};
pub use handle::{AgentHandle, EventReceiver, LocalBackend, LocalEventStream};
pub use id::{SessionId, TurnId};
pub use limits::TurnLimits;
pub use mask::Masker;
pub use mcp_server::McpServer;
pub use network_setting::{NetworkMode, NetworkSetting};
pub use permission::{Approver, PermissionPolicy, PermissionRequest, PermissionRule, Permissions};
pub use plan::Plan;
pub use prompt::Prompt;
pub use registry::{AgentRegistry, BackendFactory};
pub use secret::{ExposeSecret, SecretString};
pub use structured::{
    AgentInvocation, ApiSpec, InvocationBackend, SchemaMode, SchemaSetting, StructuredAgentTask,
    resolve_schema_mode,
};
pub use tool::{Tool, ToolKind, ToolOutput, ToolSpec, Toolbox};
pub use trace::{
    SpanCounts, TraceCollector, TraceError, TraceIds, TraceNode, TraceObserver, TraceParent,
    TurnDiagnostics, TurnTrace,
};
pub use usage::Usage;
pub use work_label::WorkLabel;
