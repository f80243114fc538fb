//! What the store holds, on both databases.

mod again;
mod cluster;
mod contract;
mod deadlines;
mod encrypted;
mod faults;
mod killed;
mod log;
mod old;
mod postgres;
