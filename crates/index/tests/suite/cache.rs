//! The cache speeds up the index and never changes its results.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use windlass_index::{CodebaseIndex, IndexLimits};

use super::Harness;

#[test]
fn cache_is_private_and_outside_repository() {
    let harness = Harness::small();
    harness.open();
    let mode = fs::metadata(harness.cache()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!harness.cache().starts_with(harness.project()));
}

#[test]
fn damaged_cache_is_rebuilt() {
    let harness = Harness::small();
    let before = harness.open().related("renew the lease");
    let good = fs::read(harness.cache()).unwrap();
    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let mut older = good.clone();
    older[15] = b'0';
    let truncated = good[..good.len() - 1].to_vec();
    let longer = [good.as_slice(), b"x"].concat();
    for damaged in [
        flipped,
        older,
        truncated,
        longer,
        Vec::new(),
        b"windlass-index".to_vec(),
    ] {
        fs::write(harness.cache(), damaged).unwrap();
        let index = harness.open();
        assert_eq!(index.last_refresh().parsed, 3);
        assert_eq!(index.related("renew the lease"), before);
        assert_eq!(harness.open().last_refresh().parsed, 0);
    }
}

#[test]
fn missing_cache_dir_only_slows_indexing() {
    let harness = Harness::small();
    fs::write(harness.cache_dir(), "a file where a directory should be").unwrap();
    assert_eq!(harness.open().last_refresh().parsed, 3);
    assert_eq!(harness.open().last_refresh().parsed, 3);
    let index = CodebaseIndex::open_with(&harness.project(), None, IndexLimits::default()).unwrap();
    assert_eq!(index.related("paint a line").files[0].path, "src/paint.rs");
}

#[test]
fn missing_dir_error_names_it() {
    let harness = Harness::new();
    let missing = harness.project().join("missing");
    let error = CodebaseIndex::open(&missing, &harness.cache_dir()).unwrap_err();
    assert!(
        error.to_string().contains("missing: No such file"),
        "{error}"
    );
}

#[test]
fn damaged_data_of_a_file_is_read_again() {
    let harness = Harness::small();
    let before = harness.open().related("renew the lease");
    let good = fs::read(harness.cache()).unwrap();
    // The first block follows the magic.
    let mut damaged = good.clone();
    damaged[16] ^= 1;
    fs::write(harness.cache(), damaged).unwrap();
    assert_eq!(harness.open().related("renew the lease"), before);
}

#[test]
fn update_keeps_the_data_of_other_files() {
    let harness = Harness::small();
    harness.open();
    harness.file("src/paint.rs", "pub fn brush() {}\n");
    harness.open();
    let index = harness.open();
    assert_eq!(index.last_refresh().parsed, 0);
    for (task, path) in [
        ("brush", "src/paint.rs"),
        ("renew the lease", "src/lease.rs"),
        ("read the clock", "src/clock.rs"),
    ] {
        assert_eq!(index.related(task).files[0].path, path);
    }
}

#[test]
fn cache_does_not_grow_with_updates() {
    let harness = Harness::small();
    let lines: String = (0..3_000)
        .map(|at| format!("fn name_{at}() {{}}\n"))
        .collect();
    harness.file("src/large.rs", &lines);
    harness.open();
    let size = || fs::metadata(harness.cache()).unwrap().len();
    let first = size();
    for at in 0..12 {
        harness.file("src/large.rs", format!("{lines}// {at}\n"));
        assert_eq!(harness.open().last_refresh().parsed, 1);
        assert!(size() < 3 * first + (1 << 17), "{} of {first}", size());
    }
    assert_eq!(
        harness.open().related("name_7").files[0].path,
        "src/large.rs"
    );
}
