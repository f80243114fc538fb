//! Clones, changes, publishing, merging, testing and verifying, on real repositories.

mod lifecycle;
mod world;
