//! Runs the fuzz targets on their corpora.

use std::fs;
use std::path::Path;

#[path = "../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "a fuzz target is public to the fuzzer")]
mod fuzz;

fn run(target: &str, check: fn(&[u8])) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target);
    let mut count = 0;
    for entry in fs::read_dir(&dir).unwrap() {
        check(&fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= 10, "{} contains only {count} seeds", dir.display());
}

#[test]
fn p24_escape_corpus() {
    run("escape", fuzz::escape);
}
