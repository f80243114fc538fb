//! Errors before the first request.

use std::net::SocketAddr;

/// Error when a model cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The address is not a loopback address.
    #[error("{listen} is not a loopback address: use 127.0.0.1 or [::1]")]
    NotLoopback {
        /// The address.
        listen: SocketAddr,
    },
    /// The address cannot be bound.
    #[error("cannot listen on {listen}: {source}")]
    Bind {
        /// The address.
        listen: SocketAddr,
        /// The operating system's error.
        source: std::io::Error,
    },
}
