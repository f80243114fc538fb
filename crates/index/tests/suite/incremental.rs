//! Only what changed is parsed again.

use std::fs;

use super::World;

/// Files, parsed, removed.
fn counts(world: &World) -> (usize, usize, usize) {
    let refresh = world.open().last_refresh();
    (refresh.files, refresh.parsed, refresh.removed)
}

#[test]
fn a_second_start_parses_nothing() {
    let world = World::small();
    assert_eq!(counts(&world), (3, 3, 0));
    assert_eq!(counts(&world), (3, 0, 0));
}

#[test]
fn one_change_is_one_file_parsed() {
    let world = World::small();
    counts(&world);
    world.file("src/paint.rs", "pub fn brush() {}\n");
    assert_eq!(counts(&world), (3, 1, 0));
    assert_eq!(world.paths("brush"), ["src/paint.rs"]);
    fs::remove_file(world.project().join("src/clock.rs")).unwrap();
    world.file("src/new.rs", "pub fn novel() {}\n");
    assert_eq!(counts(&world), (3, 1, 1));
    assert_eq!(counts(&world), (3, 0, 0));
}

#[test]
fn a_change_that_keeps_size_and_moment_is_seen() {
    let world = World::small();
    world.file("a.rs", "pub fn aaaa() {}\n");
    let mut index = world.open();
    for name in ["bbbb", "cccc", "dddd"] {
        world.file("a.rs", format!("pub fn {name}() {{}}\n"));
        assert_eq!(index.refresh().unwrap().parsed, 1);
        assert_eq!(index.related(name).files[0].path, "a.rs");
        assert_eq!(world.paths(name), ["a.rs"]);
    }
}

#[test]
fn a_file_that_was_only_touched_is_not_parsed() {
    let world = World::small();
    counts(&world);
    let path = world.project().join("src/clock.rs");
    let text = fs::read(&path).unwrap();
    fs::write(&path, text).unwrap();
    assert_eq!(counts(&world), (3, 0, 0));
}

#[test]
fn clones_that_share_objects_share_a_cache() {
    let (world, info) = (World::small(), ".git/objects/info");
    let objects = world.project().join(".git/objects");
    fs::create_dir_all(&objects).unwrap();
    counts(&world);
    let clone = World::small();
    fs::create_dir_all(clone.project().join(info)).unwrap();
    let line = format!("{}\n", objects.display());
    fs::write(clone.project().join(info).join("alternates"), line).unwrap();
    let open = windlass_index::CodebaseIndex::open(&clone.project(), &world.caches()).unwrap();
    assert_eq!(open.last_refresh().parsed, 0);
    world.cache();
}
