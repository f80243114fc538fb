//! P17 as a property: on any tree of folders, files and links, a root gives the answer that the kernel
//! and a plain reading of the rules give.

use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, open, openat2};
use rustix::io::Errno;
use windlass_workspace::paths::PathError;

use super::Ground;

/// One thing to put into the tree.
#[derive(Debug, Clone)]
enum Item {
    File(String),
    Folder(String),
    Link(String, String),
}

/// Few names, so that they meet.
fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "c"])
}

fn plain_path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..4).prop_map(|parts| parts.join("/"))
}

/// Any path a model may write: steps up, dots, and a way out.
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
        plain_path().prop_map(Item::Folder),
        (plain_path(), wild_path()).prop_map(|(at, to)| Item::Link(at, to)),
    ]
}

/// Puts in what fits; what does not is left out.
fn grow(ground: &Ground, items: &[Item]) {
    for item in items {
        let (Item::File(path) | Item::Folder(path) | Item::Link(path, _)) = item;
        let path = ground.inside(path);
        // Through no link: the tree must be known.
        let parents = path
            .ancestors()
            .skip(1)
            .take_while(|above| *above != ground.root.path());
        if parents.into_iter().any(|above| above.is_symlink()) || path.symlink_metadata().is_ok() {
            continue;
        }
        if std::fs::create_dir_all(path.parent().unwrap()).is_err() {
            continue;
        }
        match item {
            Item::File(_) => std::fs::write(&path, "inside").unwrap(),
            Item::Folder(_) => std::fs::create_dir(&path).unwrap(),
            Item::Link(_, target) if target.is_empty() => {}
            Item::Link(_, target) => std::os::unix::fs::symlink(target, &path).unwrap(),
        }
    }
}

/// What becomes of a path by a plain reading of the rules.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Inside,
    Escapes,
    Missing,
    Circle,
}

/// Walks the parts one by one: a step above the root is an escape, so is an absolute link.
fn walk(root: &Path, path: &str) -> Answer {
    let mut rest: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
    let mut at: Vec<String> = Vec::new();
    let mut links = 0;
    let must_be_folder = |at: &[String]| root.join(at.join("/")).is_dir();
    while let Some(part) = rest.pop() {
        if !must_be_folder(&at) {
            return Answer::Missing;
        }
        match part.as_str() {
            "" | "." => continue,
            ".." => {
                if at.pop().is_none() {
                    return Answer::Escapes;
                }
                continue;
            }
            _ => at.push(part),
        }
        let here = root.join(at.join("/"));
        let Ok(found) = here.symlink_metadata() else {
            return Answer::Missing;
        };
        if found.is_symlink() {
            links += 1;
            if links > 40 {
                return Answer::Circle;
            }
            let target = std::fs::read_link(&here)
                .unwrap()
                .into_os_string()
                .into_string()
                .unwrap();
            if target.starts_with('/') {
                return Answer::Escapes;
            }
            at.pop();
            rest.extend(target.split('/').rev().map(str::to_owned));
        }
    }
    Answer::Inside
}

fn identity(path: &Path, root: &Path, rules: ResolveFlags) -> Option<(u64, u64)> {
    let folder = open(root, OFlags::PATH, Mode::empty()).ok()?;
    let found = loop {
        match openat2(&folder, path, OFlags::PATH, Mode::empty(), rules) {
            // Somebody on this machine renames or mounts, and the kernel will not vouch for a step up.
            Err(Errno::AGAIN) => {}
            found => break found.ok()?,
        }
    };
    let stat = fstat(found).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("proptest-regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn p17_every_answer_is_the_kernels(
        items in prop::collection::vec(item(), 1..12),
        paths in prop::collection::vec(wild_path(), 1..12),
    ) {
        let ground = Ground::new();
        grow(&ground, &items);
        let root = ground.root.path();
        for path in &paths {
            // What the text alone decides is tried elsewhere.
            if path.is_empty() || path.starts_with('/') {
                prop_assert!(ground.root.metadata(path).is_err());
                continue;
            }
            let expected = walk(root, path);
            match ground.root.metadata(path) {
                Ok(found) => {
                    prop_assert_eq!(expected, Answer::Inside, "{}", path);
                    // In a root of its own, as under chroot, the path leads to the same thing.
                    let chroot = identity(path.as_ref(), root, ResolveFlags::IN_ROOT);
                    prop_assert_eq!(chroot, Some(found.identity), "{}", path);
                    let real = root.join(path).canonicalize().unwrap();
                    prop_assert!(real.starts_with(root), "{}", path);
                }
                Err(error) if error.is_escape() => prop_assert_eq!(expected, Answer::Escapes, "{}", path),
                Err(PathError::NotFound { .. }) => prop_assert_eq!(expected, Answer::Missing, "{}", path),
                Err(PathError::Refused { .. }) => prop_assert_eq!(expected, Answer::Circle, "{}", path),
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
    fn p17_no_deed_on_any_path_changes_anything_outside(
        items in prop::collection::vec(item(), 1..12),
        deeds in prop::collection::vec((0..4, wild_path(), wild_path()), 1..12),
    ) {
        let ground = Ground::new();
        grow(&ground, &items);
        for (deed, path, other) in &deeds {
            match deed {
                0 | 1 => {
                    if ground.root.write(path, b"written").is_ok() {
                        prop_assert_eq!(ground.root.read(path, 100).unwrap(), b"written");
                        let real = ground.root.path().join(path).canonicalize().unwrap();
                        prop_assert!(real.starts_with(ground.root.path()));
                    }
                }
                2 => drop(ground.root.delete(path)),
                _ => drop(ground.root.rename(path, other)),
            }
            if let Ok(content) = ground.root.read(path, 100) {
                prop_assert_ne!(content, b"canary");
            }
            ground.assert_untouched();
        }
        let above = openat2(CWD, ground.inside(".."), OFlags::PATH, Mode::empty(), ResolveFlags::empty());
        prop_assert!(above.is_ok());
        prop_assert_eq!(std::fs::read_dir(ground.inside("..")).unwrap().count(), 2);
    }
}
