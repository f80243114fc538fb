//! One module per promise, and shared helpers.

mod bounds;
mod canaries;
mod detection;
mod docs;
mod environment;
mod file_access;
mod git_attacks;
mod limits;
mod network;
mod probe;
mod protection;
mod reach;
mod real_matrix;
mod refusals;
mod sigkill;
mod support;
mod system_calls;
mod tree;
mod unusual_dirs;
mod visible_system;
