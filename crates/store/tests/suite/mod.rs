//! What the store holds, on both databases.

mod cluster;
mod contract;
mod deadlines;
mod postgres;
