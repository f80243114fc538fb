//! Models as agents, on scripted models in every dialect and on servers that misbehave.

mod answers;
mod budget;
mod canary;
mod conformance;
mod consent;
mod faults;
mod loops;
mod mcp;
mod modes;
mod needs_local_model;
mod redirect;
mod together;
mod tools;
pub(crate) mod world;
