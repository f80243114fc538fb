//! What each file is about is in its name.

mod agents;
mod agents_more;
mod curl;
mod dialects;
mod faults;
mod front;
mod front_errors;
mod front_real;
mod front_stage;
mod front_world;
mod intents;
mod models;
mod script;
mod sdk;
mod side;
mod tape;
mod tools;
mod world;
