//! One HTTP client for every model API, and for webhooks.
//!
//! The security rules are enforced here, so that callers need not repeat them: a URL must be `http` or `https`,
//! redirects are not followed (the key would be sent along), requests to this machine bypass the proxies of the
//! environment, every wait and every body has a limit, and a request is retried only if a retry may help.
//!
//! `auth` is the only module that turns a key into a header.

mod auth;
mod base_url;
mod body;
mod client;
mod date;
mod forward;
mod limits;
mod retry;
mod tls;
mod webhook;

pub use auth::ApiKey;
pub use base_url::BaseUrl;
pub use body::ResponseBody;
pub use client::Client;
pub use forward::{ForwardClient, ForwardedBody};
pub use limits::HttpLimits;
pub use webhook::{JsonPoster, PostReply, post_json};
