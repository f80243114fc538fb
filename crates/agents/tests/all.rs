//! Everything `agents` promises, on recordings, on stand-ins, and on the real programs.

#[cfg(test)]
mod suite;
