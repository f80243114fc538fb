//! Everything `mcp` promises, tried on the demonstration server behind the real walls.
//!
//! It needs the sandbox's init program beside it: alone, build that first with `cargo build -p windlass-sandbox`.

#[cfg(test)]
mod suite;
