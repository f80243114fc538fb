//! Everything `workspace` promises, tried on this machine. Nothing is skipped: what is missing is a
//! failure that says so.

#![cfg_attr(
    test,
    expect(
        clippy::disallowed_methods,
        reason = "a test may start what it looks at from outside"
    )
)]

#[cfg(test)]
mod suite;
