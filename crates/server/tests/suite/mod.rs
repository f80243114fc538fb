//! One file per promise or surface.

mod api;
mod client;
mod faults;
mod guard;
mod hostile;
mod stop;
mod store;
mod story;
mod world;
mod ws;
