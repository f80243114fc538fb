//! A cache helps, and never harms.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use windlass_index::{CodebaseIndex, IndexLimits};

use super::World;

#[test]
fn it_is_its_owners_alone_and_not_in_the_repository() {
    let world = World::small();
    world.open();
    let mode = fs::metadata(world.cache()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!world.cache().starts_with(world.project()));
}

#[test]
fn a_damaged_cache_is_built_again() {
    let world = World::small();
    let before = world.open().related("renew the lease");
    let good = fs::read(world.cache()).unwrap();
    let mut turned = good.clone();
    *turned.last_mut().unwrap() ^= 1;
    let mut older = good.clone();
    older[15] = b'0';
    let cut = good[..good.len() - 1].to_vec();
    let longer = [good.as_slice(), b"x"].concat();
    for damaged in [
        turned,
        older,
        cut,
        longer,
        Vec::new(),
        b"windlass-index".to_vec(),
    ] {
        fs::write(world.cache(), damaged).unwrap();
        let index = world.open();
        assert_eq!(index.last_refresh().parsed, 3);
        assert_eq!(index.related("renew the lease"), before);
        assert_eq!(world.open().last_refresh().parsed, 0);
    }
}

#[test]
fn without_a_place_for_it_all_works_but_slower() {
    let world = World::small();
    fs::write(world.caches(), "a file where a folder should be").unwrap();
    assert_eq!(world.open().last_refresh().parsed, 3);
    assert_eq!(world.open().last_refresh().parsed, 3);
    let index = CodebaseIndex::open_with(&world.project(), None, IndexLimits::default()).unwrap();
    assert_eq!(index.related("paint a line").files[0].path, "src/paint.rs");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let world = World::new();
    let nowhere = world.project().join("nowhere");
    let error = CodebaseIndex::open(&nowhere, &world.caches()).unwrap_err();
    assert!(
        error.to_string().contains("nowhere: No such file"),
        "{error}"
    );
}
