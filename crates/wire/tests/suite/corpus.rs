//! The corpora of the fuzzers, run as tests.

use std::fs;
use std::path::Path;

use windlass_wire::Dialect;

#[path = "../../fuzz/src/lib.rs"]
mod fuzz;

fn check(dialect: Dialect) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(dialect.as_str());
    let mut seen = 0;
    for entry in fs::read_dir(&dir).unwrap() {
        fuzz::check(dialect, &fs::read(entry.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(seen >= 10, "{} holds only {seen} seeds", dir.display());
}

#[test]
fn chat() {
    check(Dialect::Chat);
}

#[test]
fn responses() {
    check(Dialect::Responses);
}

#[test]
fn messages() {
    check(Dialect::Messages);
}

#[test]
fn gemini() {
    check(Dialect::Gemini);
}

#[test]
fn ollama() {
    check(Dialect::Ollama);
}
