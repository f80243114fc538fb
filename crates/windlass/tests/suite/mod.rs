//! One file per promise or surface.

mod cli_context;
mod cli_exit;
mod cli_hostile;
mod cli_output;
mod cli_schema;
mod cli_signals;
mod cli_testkit;
mod cli_world;
mod cluster;
mod composite;
mod composite_served;
mod config_errors;
mod config_hostile;
mod config_layers;
mod config_reference;
mod config_trust;
mod config_world;
mod dashboard;
mod example;
mod kill_loop;
mod run;
mod scenarios_real;
mod serve;
mod serve_world;
mod task_world;
mod tasks;
