//! Everything `tools` promises, tried on this machine. Nothing is skipped: what is missing is a
//! failure that says so.

#[cfg(test)]
mod suite;
