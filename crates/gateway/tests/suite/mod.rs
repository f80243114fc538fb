//! The test suite. Each file is named after its subject.

mod agent_api;
mod agent_api_errors;
mod agent_api_harness;
mod agent_api_setup;
mod cassette;
mod curl;
mod dialects;
mod faults;
mod harness;
mod intents;
mod models;
mod real_agent_api;
mod real_agents;
mod real_agents_more;
mod real_sdk;
mod script;
mod side;
mod tools;
