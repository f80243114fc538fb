//! Models as agents, on scripted models in every dialect and on misbehaving servers.

mod budget;
mod canary;
mod completion;
mod conformance;
mod faults;
pub(crate) mod harness;
mod loops;
mod mcp;
mod modes;
mod needs_local_model;
mod parallel;
mod permission;
mod redirect;
mod relay;
mod small;
mod tools;
