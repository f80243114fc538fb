//! Everything `index` promises, on folders of its own.

#[cfg(test)]
mod suite;
