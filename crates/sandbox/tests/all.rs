//! Tests of everything that `sandbox` promises, on this machine. No test is skipped: a missing
//! program is a failure that names it.

#[cfg(test)]
mod suite;
