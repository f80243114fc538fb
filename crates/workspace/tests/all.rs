//! Tests of everything that `workspace` promises, on this machine. No test is skipped: a missing
//! program is a failure that names it.

#![cfg_attr(
    test,
    expect(
        clippy::disallowed_methods,
        reason = "a test may start the programs that it checks from outside"
    )
)]

#[cfg(test)]
mod suite;
