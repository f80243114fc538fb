//! Runs the fuzz target on its corpus.

use std::fs;
use std::path::Path;

#[path = "../fuzz/src/lib.rs"]
#[expect(
    clippy::expect_used,
    unreachable_pub,
    reason = "a fuzz target fails by panicking, and is public to the fuzzer"
)]
mod fuzz;

#[test]
fn cassette_corpus() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/cassette");
    let mut count = 0;
    for entry in fs::read_dir(&dir).unwrap() {
        fuzz::cassette(&fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= 10, "{} contains only {count} seeds", dir.display());
}
