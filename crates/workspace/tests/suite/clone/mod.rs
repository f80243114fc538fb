//! Clones, changes, publishing, merging, testing and verifying, on real repositories.

mod faults;
mod harness;
mod hostile;
mod lifecycle;
mod merging;
mod repositories;
mod testing;
mod verifying;
mod weakening;
