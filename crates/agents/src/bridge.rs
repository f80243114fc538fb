//! The bridge between agents and their providers: agents call it instead of the provider, and it has the keys.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use serde::Deserialize;
use windlass_core::{SecretString, WorkLabel};
use windlass_wire::{Dialect, ModelError, ReportedUsage};

/// The beginning of the error of a call that a spending limit refuses. Agents repeat it in their own errors.
pub const BUDGET_EXCEEDED: &str = "windlass budget exceeded";

/// Gives each process of an agent its own address for model calls.
pub trait ModelBridge: fmt::Debug + Send + Sync {
    /// Opens an address from which the calls are passed on to the provider.
    fn open(&self, route: ModelRoute) -> windlass_core::Result<BridgedAccess>;

    /// Returns `true` if the calls are recorded. This program then calls its models through an address, too.
    fn records(&self) -> bool {
        false
    }

    /// Counts a call that this program makes itself. The error is why it may not be sent.
    fn begin_call(
        &self,
        route: ModelRoute,
        request: OwnRequest,
    ) -> BoxFuture<'_, Result<Box<dyn CountedCall>, ModelError>>;
}

/// What the bridge must know about a request of this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnRequest {
    /// The API.
    pub dialect: Dialect,
    /// The model.
    pub model: String,
    /// The limit of the answer, if the request has one.
    pub max_output: Option<u64>,
    /// The length of the request.
    pub bytes: u64,
}

/// A call that this program makes itself. One that is dropped was interrupted.
pub trait CountedCall: Send {
    /// Stores the end of the call: what was reported, or the error instead of a response.
    fn end(self: Box<Self>, end: Result<ReportedUsage, ModelError>) -> BoxFuture<'static, ()>;
}

/// The provider of an agent, and what its calls are counted for.
#[derive(Debug, Clone, Default)]
pub struct ModelRoute {
    /// The configured name of the agent.
    pub agent: String,
    /// The base URL of the provider.
    pub upstream: String,
    /// The provider's keys. The agent gets a token for each, which is replaced by the key in its calls.
    pub keys: Vec<SecretString>,
    /// Keys of further accounts, which replace the only key while the account of that must wait.
    pub more_keys: Vec<SecretString>,
    /// The most calls of one account at the same time, in this process.
    pub max_calls: Option<u32>,
    /// The agent has a login of its own. It gets no token, and its calls pass with its own authorization.
    pub own_login: bool,
    /// The work that the agent does.
    pub work: WorkLabel,
    /// The name of the account, once the bridge has found it. Routes that differ only in their work share it.
    pub account: Arc<OnceLock<String>>,
}

/// The address and the tokens that an agent gets instead of its provider's.
#[derive(Debug)]
pub struct BridgedAccess {
    /// The base URL. Its path ends like that of the provider.
    pub url: String,
    /// A token for each key, or one if there is no key; none for an agent with its own login.
    pub tokens: Vec<SecretString>,
    /// While it exists, the address and the tokens are valid.
    pub lease: BridgeLease,
}

/// Keeps an address of the bridge open.
pub struct BridgeLease(Box<dyn Any + Send + Sync>);

impl BridgeLease {
    /// Creates a lease that ends when this value is dropped.
    pub fn new(guard: impl Any + Send + Sync) -> Self {
        Self(Box::new(guard))
    }
}

impl fmt::Debug for BridgeLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(guard) = self;
        f.debug_tuple("BridgeLease")
            .field(&(**guard).type_id())
            .finish()
    }
}

/// Whether an agent calls its provider through the bridge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BridgeMode {
    /// Through the bridge, if its endpoint or its key is known.
    #[default]
    On,
    /// Directly, with the key.
    Off,
    /// Through the bridge with the agent's own login, which is passed on to its provider.
    PassThrough,
}
