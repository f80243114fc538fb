//! The test suite. Each file is named after its subject.

mod cassette;
mod curl;
mod dialects;
mod faults;
mod harness;
mod intents;
mod models;
mod real_agents;
mod real_agents_more;
mod real_sdk;
mod script;
mod side;
mod tools;
