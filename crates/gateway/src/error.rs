//! What can go wrong before the first request comes.

use std::net::SocketAddr;

/// Why a model cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The address is not of this machine alone.
    #[error("{listen} can be reached from other machines: use 127.0.0.1 or [::1]")]
    NotLoopback {
        /// The address.
        listen: SocketAddr,
    },
    /// Nobody can listen there.
    #[error("cannot listen on {listen}: {source}")]
    Bind {
        /// The address.
        listen: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
}
