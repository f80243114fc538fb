//! Everything `mcp` promises, tried on the demonstration server behind the real walls.

#[cfg(test)]
mod suite;
