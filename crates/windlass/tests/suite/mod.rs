//! One file per promise or surface.

mod config_errors;
mod config_hostile;
mod config_layers;
mod config_reference;
mod config_trust;
mod config_world;
