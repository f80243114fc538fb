//! The test suite, one file per topic.

mod access;
mod api;
mod audit;
mod certificates;
mod client;
mod faults;
mod flood;
mod full_run;
mod git;
mod guard;
mod harness;
mod hostile;
mod mcp;
mod mcp_access;
mod mcp_client;
mod mcp_transport;
mod metrics;
mod reviews;
mod session;
mod stop;
mod store;
mod tls;
mod workers;
mod ws;
