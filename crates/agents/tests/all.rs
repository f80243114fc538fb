//! Tests of `agents`: on recordings, on fake agents, and on the real programs.
#![cfg_attr(
    test,
    expect(
        clippy::disallowed_methods,
        reason = "a test may start the programs that it inspects from outside"
    )
)]

#[cfg(test)]
mod suite;
