//! One module per promise, and what they share.

mod any_folder;
mod bounds;
mod detection;
mod environment;
mod protection;
mod reach;
mod real_matrix;
mod refusals;
mod sigkill;
mod support;
mod tree;
mod walls;
