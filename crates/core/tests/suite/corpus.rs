//! The fuzzers' corpora, run as plain tests.

use std::fs;
use std::path::Path;

#[path = "../../fuzz/src/lib.rs"]
#[expect(
    clippy::expect_used,
    unreachable_pub,
    reason = "a fuzz target fails by panicking, and is public to the fuzzer"
)]
mod fuzz;

fn run(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target);
    let mut seen = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        check(&fs::read(entry.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(seen >= 10, "{} holds only {seen} seeds", folder.display());
}

#[test]
fn cassette() {
    run("cassette", fuzz::cassette);
}

#[test]
fn p24_visible() {
    run("visible", fuzz::shown);
}
