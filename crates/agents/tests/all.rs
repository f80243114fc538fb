//! Everything `agents` promises, on recordings, on stand-ins, and on the real programs.
#![cfg_attr(
    test,
    expect(
        clippy::disallowed_methods,
        reason = "a test may start what it looks at from outside"
    )
)]

#[cfg(test)]
mod suite;
