//! Clones, changes, publishing, merging, testing and verifying, on real repositories.

mod faults;
mod hostile;
mod lifecycle;
mod merging;
mod repositories;
mod testing;
mod verifying;
mod weakening;
mod world;
