//! One HTTP client for every model API.
//!
//! It is careful in one place, so that nobody else has to be: addresses are `http` or `https` and nothing else, no
//! redirect is followed (a key would go along), a proxy of the environment never sees what stays on this machine,
//! every wait and every body has a limit, and a request is sent again only where that may help.
//!
//! `auth` is the only place that turns a key into a header.

mod auth;
mod base_url;
mod body;
mod client;
mod date;
mod retry;

pub use auth::ApiKey;
pub use base_url::BaseUrl;
pub use body::ResponseBody;
pub use client::{Client, HttpLimits};
