//! P17 as a property: on any tree of directories, files and links, a root gives the same result as
//! the kernel and as a direct implementation of the rules.

use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, open, openat2};
use rustix::io::Errno;
use windlass_workspace::paths::PathError;

use super::TestDirs;

/// One item of the tree.
#[derive(Debug, Clone)]
enum Item {
    File(String),
    Dir(String),
    Link(String, String),
}

/// Few names, so that they collide.
fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "c"])
}

fn plain_path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..4).prop_map(|parts| parts.join("/"))
}

/// Any path a model may write: parent references, dots, and paths that lead out.
fn wild_path() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => name().prop_map(str::to_owned),
        2 => Just("..".to_owned()),
        1 => Just(".".to_owned()),
        1 => Just("outside".to_owned()),
        1 => Just("secret".to_owned()),
        1 => Just(String::new()),
    ];
    prop::collection::vec(part, 1..7).prop_map(|parts| parts.join("/"))
}

fn item() -> impl Strategy<Value = Item> {
    prop_oneof![
        plain_path().prop_map(Item::File),
        plain_path().prop_map(Item::Dir),
        (plain_path(), wild_path()).prop_map(|(path, target)| Item::Link(path, target)),
    ]
}

/// Creates the items that are possible; skips the others.
fn create_items(dirs: &TestDirs, items: &[Item]) {
    for item in items {
        let (Item::File(path) | Item::Dir(path) | Item::Link(path, _)) = item;
        let path = dirs.inside(path);
        // Creates nothing through a link: the tree must be known.
        let parents = path
            .ancestors()
            .skip(1)
            .take_while(|parent| *parent != dirs.root.path());
        if parents.into_iter().any(|parent| parent.is_symlink()) || path.symlink_metadata().is_ok()
        {
            continue;
        }
        if std::fs::create_dir_all(path.parent().unwrap()).is_err() {
            continue;
        }
        match item {
            Item::File(_) => std::fs::write(&path, "inside").unwrap(),
            Item::Dir(_) => std::fs::create_dir(&path).unwrap(),
            Item::Link(_, target) if target.is_empty() => {}
            Item::Link(_, target) => std::os::unix::fs::symlink(target, &path).unwrap(),
        }
    }
}

/// The result for a path by a direct implementation of the rules.
#[derive(Debug, PartialEq, Eq)]
enum Resolution {
    Inside,
    Escapes,
    Missing,
    Loop,
}

/// Resolves the parts one by one: a parent reference above the root is an escape, and so is an
/// absolute link.
fn walk(root: &Path, path: &str) -> Resolution {
    let mut rest: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
    let mut current: Vec<String> = Vec::new();
    let mut links = 0;
    let is_dir_at = |current: &[String]| root.join(current.join("/")).is_dir();
    while let Some(part) = rest.pop() {
        if !is_dir_at(&current) {
            return Resolution::Missing;
        }
        match part.as_str() {
            "" | "." => continue,
            ".." => {
                if current.pop().is_none() {
                    return Resolution::Escapes;
                }
                continue;
            }
            _ => current.push(part),
        }
        let here = root.join(current.join("/"));
        let Ok(found) = here.symlink_metadata() else {
            return Resolution::Missing;
        };
        if found.is_symlink() {
            links += 1;
            if links > 40 {
                return Resolution::Loop;
            }
            let target = std::fs::read_link(&here)
                .unwrap()
                .into_os_string()
                .into_string()
                .unwrap();
            if target.starts_with('/') {
                return Resolution::Escapes;
            }
            current.pop();
            rest.extend(target.split('/').rev().map(str::to_owned));
        }
    }
    Resolution::Inside
}

fn identity(path: &Path, root: &Path, rules: ResolveFlags) -> Option<(u64, u64)> {
    let dir = open(root, OFlags::PATH, Mode::empty()).ok()?;
    let fd = loop {
        match openat2(&dir, path, OFlags::PATH, Mode::empty(), rules) {
            // A concurrent rename or mount on this machine: the kernel cannot guarantee a parent
            // reference.
            Err(Errno::AGAIN) => {}
            fd => break fd.ok()?,
        }
    };
    let stat = fstat(fd).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("proptest-regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn p17_every_result_matches_the_kernel(
        items in prop::collection::vec(item(), 1..12),
        paths in prop::collection::vec(wild_path(), 1..12),
    ) {
        let dirs = TestDirs::new();
        create_items(&dirs, &items);
        let root = dirs.root.path();
        for path in &paths {
            // Other tests cover the paths that the text alone decides.
            if path.is_empty() || path.starts_with('/') {
                prop_assert!(dirs.root.metadata(path).is_err());
                continue;
            }
            let expected = walk(root, path);
            match dirs.root.metadata(path) {
                Ok(found) => {
                    prop_assert_eq!(expected, Resolution::Inside, "{}", path);
                    // With the directory as the root of the file system, as in a chroot, the path
                    // leads to the same file.
                    let chroot = identity(path.as_ref(), root, ResolveFlags::IN_ROOT);
                    prop_assert_eq!(chroot, Some(found.identity), "{}", path);
                    let real = root.join(path).canonicalize().unwrap();
                    prop_assert!(real.starts_with(root), "{}", path);
                }
                Err(error) if error.is_escape() => prop_assert_eq!(expected, Resolution::Escapes, "{}", path),
                Err(PathError::NotFound { .. }) => prop_assert_eq!(expected, Resolution::Missing, "{}", path),
                Err(PathError::Refused { .. }) => prop_assert_eq!(expected, Resolution::Loop, "{}", path),
                Err(other) => prop_assert!(false, "{path}: {other}"),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 80,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("proptest-regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn p17_no_operation_changes_anything_outside(
        items in prop::collection::vec(item(), 1..12),
        operations in prop::collection::vec((0..4, wild_path(), wild_path()), 1..12),
    ) {
        let dirs = TestDirs::new();
        create_items(&dirs, &items);
        for (operation, path, other) in &operations {
            match operation {
                0 | 1 => {
                    if dirs.root.write(path, b"written").is_ok() {
                        prop_assert_eq!(dirs.root.read(path, 100).unwrap(), b"written");
                        let real = dirs.root.path().join(path).canonicalize().unwrap();
                        prop_assert!(real.starts_with(dirs.root.path()));
                    }
                }
                2 => drop(dirs.root.delete(path)),
                _ => drop(dirs.root.rename(path, other)),
            }
            if let Ok(content) = dirs.root.read(path, 100) {
                prop_assert_ne!(content, b"canary");
            }
            dirs.assert_untouched();
        }
        let above = openat2(CWD, dirs.inside(".."), OFlags::PATH, Mode::empty(), ResolveFlags::empty());
        prop_assert!(above.is_ok());
        prop_assert_eq!(std::fs::read_dir(dirs.inside("..")).unwrap().count(), 2);
    }
}
