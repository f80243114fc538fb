//! Keys of composites, of models served by the gateway, of the gateway, and of the server.

use std::time::Duration;

use windlass_agents::composite::{CompositeKind, FallbackCause};

use super::{KeySpec, WEEK, settings};
use crate::config::value_type::*;

settings! {
    /// Settings of one composite.
    #[derive(Default)]
    pub struct CompositeSettings at "composites.<name>." {
        /// The kind of a composite, an agent made of several with the name `composite/profile/<name>`: one agent under
        /// another name (single), the first agent that succeeds (fallback), or one agent that plans and one that executes
        /// the plan (plan_execute).
        kind: Option<CompositeKind> as CompositeKind;
        /// The agents of the composite, by name and in order; `agent/model` and other composites are allowed.
        nodes: Option<Vec<String>> as TextList;
        /// The errors after which a `fallback` uses the next node; by default rate_limited, unavailable, timeout,
        /// auth_failed, session_orphaned and backend_error.
        on: Option<Vec<FallbackCause>> as FallbackCause;
        /// Cool-down of a `fallback` node after such an error: for this time it is used only if no other node is
        /// available. It applies if the provider sends no retry time; 60 by default.
        cool_down_secs: Option<Duration> as Seconds<WEEK>;
        /// Timeout of one turn. Default: the sum of the timeouts of its nodes.
        timeout_secs: Option<Duration> as Seconds<WEEK>;
    }
}

settings! {
    /// Settings of one model name that the gateway serves.
    pub struct AliasSettings at "model_list.<alias>." {
        /// The agent that answers requests to the gateway for the model of this name.
        agent: Option<String> as Name;
        /// The model that the agent uses, by the agent's own name for it.
        model: Option<String> as NonEmptyText;
        /// The agent's working directory. Default: an empty repository, created for each request.
        folder: Option<String> as NonEmptyText;
        /// Whether the agent may change files there (allow) or only read (deny, the default).
        permissions: Option<FolderAccess> as FolderAccess;
        /// What an agent program does with the tools of a request: refuse it (the default), or get them in its prompt and
        /// answer with one call at a time (transcript). Models behind HTTP get tools in any case.
        tool_calls: Option<ToolCalls> as ToolCalls;
    }
}

settings! {
    /// Settings of the gateway.
    pub struct GatewaySettings at "gateway." {
        /// Maximum concurrent requests; further requests get 429 with Retry-After.
        concurrency: u32 as Count<1, 10_000> = "32";
    }
}

settings! {
    /// Settings of `windlass serve`.
    pub struct ServeSettings at "server." {
        /// The file with the certificate of the server, in PEM format, followed by those of its issuers, as an absolute
        /// path. With it, connections are encrypted. The file is read again when it changes.
        tls_cert: Option<String> as NonEmptyText;
        /// The file with the private key of the certificate, in PEM format, as an absolute path. Other users must not be
        /// able to read it.
        tls_key: Option<String> as NonEmptyText;
        /// Whether the server offers a git repository for each project, at `/git/PROJECT.git`.
        git: bool as Bool = "false";
    }
}
