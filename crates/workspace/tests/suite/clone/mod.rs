//! Clones, changes, publishing, merging, testing and verifying, on real repositories.

mod cases;
mod checkouts;
mod faults;
mod harness;
mod hostile;
mod judging;
mod keeping;
mod lifecycle;
mod merging;
mod monorepo;
mod preparing;
mod real_setups;
mod repositories;
mod snapshots;
mod stacking;
mod testing;
mod verifying;
mod weakening;
