//! Only changed files are parsed again.

use std::fs;

use super::Harness;

/// Returns the numbers of indexed, parsed and removed files.
fn counts(harness: &Harness) -> (usize, usize, usize) {
    let refresh = harness.open().last_refresh();
    (refresh.files, refresh.parsed, refresh.removed)
}

#[test]
fn second_start_parses_nothing() {
    let harness = Harness::small();
    assert_eq!(counts(&harness), (3, 3, 0));
    assert_eq!(counts(&harness), (3, 0, 0));
}

#[test]
fn one_change_parses_one_file() {
    let harness = Harness::small();
    counts(&harness);
    harness.file("src/paint.rs", "pub fn brush() {}\n");
    assert_eq!(counts(&harness), (3, 1, 0));
    assert_eq!(harness.paths("brush"), ["src/paint.rs"]);
    fs::remove_file(harness.project().join("src/clock.rs")).unwrap();
    harness.file("src/new.rs", "pub fn novel() {}\n");
    assert_eq!(counts(&harness), (3, 1, 1));
    assert_eq!(counts(&harness), (3, 0, 0));
}

#[test]
fn change_with_same_size_and_mtime_is_detected() {
    let harness = Harness::small();
    harness.file("a.rs", "pub fn aaaa() {}\n");
    let mut index = harness.open();
    for name in ["bbbb", "cccc", "dddd"] {
        harness.file("a.rs", format!("pub fn {name}() {{}}\n"));
        assert_eq!(index.refresh().unwrap().parsed, 1);
        assert_eq!(index.related(name).files[0].path, "a.rs");
        assert_eq!(harness.paths(name), ["a.rs"]);
    }
}

#[test]
fn touched_file_is_not_parsed() {
    let harness = Harness::small();
    counts(&harness);
    let path = harness.project().join("src/clock.rs");
    let text = fs::read(&path).unwrap();
    fs::write(&path, text).unwrap();
    assert_eq!(counts(&harness), (3, 0, 0));
}

#[test]
fn clones_with_shared_objects_share_a_cache() {
    let (harness, info) = (Harness::small(), ".git/objects/info");
    let objects = harness.project().join(".git/objects");
    fs::create_dir_all(&objects).unwrap();
    counts(&harness);
    let clone = Harness::small();
    fs::create_dir_all(clone.project().join(info)).unwrap();
    let line = format!("{}\n", objects.display());
    fs::write(clone.project().join(info).join("alternates"), line).unwrap();
    let open = windlass_index::CodebaseIndex::open(&clone.project(), &harness.cache_dir()).unwrap();
    assert_eq!(open.last_refresh().parsed, 0);
    harness.cache();
}
