//! Which hosts a process can reach.
//!
//! Under bubblewrap a process has its own network namespace, in which every address leads to
//! this process: the init process opens the listeners there and passes them here. The [`proxy`]
//! accepts their connections and connects to the allowed hosts. Names of allowed hosts are in the
//! process's `/etc/hosts`, so that a program needs no proxy settings.

mod address;
mod blocked;
mod head;
mod host_rule;
mod plan;
pub(crate) mod proxy;
mod relay;
mod upstream;

pub use blocked::BlockedConnection;
pub use host_rule::{HostRule, InvalidHost};

pub(crate) use blocked::BlockedLog;
pub(crate) use plan::NetworkPlan;
pub(crate) use upstream::Upstream;

/// The network access of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Network {
    /// No host; programs of the same process tree can connect to each other.
    None,
    /// Only these hosts.
    Hosts(Vec<HostRule>),
    /// Every host, also this machine.
    Open,
}
