//! Tests of the store on both databases.

mod access;
mod checkpoint;
mod child_process;
mod cluster;
mod conformance;
mod deadlines;
mod faults;
mod hostile;
mod killed;
mod machines;
mod model_calls;
mod portable;
mod real_encrypted;
mod real_pooler;
mod real_postgres;
mod rolling;
mod schema_versions;
