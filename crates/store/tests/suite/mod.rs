//! What the store holds, on both databases.

mod again;
mod cluster;
mod contract;
mod deadlines;
mod faults;
mod killed;
mod log;
mod old;
mod real_encrypted;
mod real_postgres;
