//! What each file is about is in its name.

mod curl;
mod dialects;
mod faults;
mod front;
mod front_errors;
mod front_stage;
mod front_world;
mod intents;
mod models;
mod real_agents;
mod real_agents_more;
mod real_front;
mod real_sdk;
mod script;
mod side;
mod tape;
mod tools;
mod world;
