//! Trees that were made to break an indexer.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use windlass_index::{CodebaseIndex, IndexLimits};

use super::World;

#[test]
fn links_are_not_followed() {
    let (world, secret) = (World::small(), World::new());
    secret.file("secret.rs", "pub fn outside() {}\n");
    symlink("..", world.project().join("src/loop")).unwrap();
    symlink(secret.project(), world.project().join("out")).unwrap();
    symlink(
        secret.project().join("secret.rs"),
        world.project().join("secret.rs"),
    )
    .unwrap();
    assert_eq!(world.open().last_refresh().files, 3);
    assert_eq!(world.paths("outside"), Vec::<String>::new());
}

#[test]
fn names_that_are_no_text_are_left_out_and_counted() {
    let world = World::small();
    world.file(OsStr::from_bytes(b"bad\xff.rs"), "pub fn a() {}\n");
    world.file("new\nline \u{202e}.rs", "pub fn strange_name() {}\n");
    let refresh = world.open().last_refresh();
    assert_eq!((refresh.files, refresh.left_out), (4, 1));
    assert_eq!(world.paths("strange name").len(), 1);
}

#[test]
fn what_git_ignores_is_ignored() {
    let world = World::small();
    world
        .file(".gitignore", "/made/\n*.log\n")
        .file("made/big.rs", "pub fn lease() {}\n")
        .file("lease.log", "lease\n")
        .file(".github/lease.yml", "lease: renew\n");
    let paths = world.paths("renew lease");
    assert_eq!(&paths[..2], ["src/lease.rs", ".github/lease.yml"]);
    assert!(
        !paths
            .iter()
            .any(|path| path.ends_with("big.rs") || path.ends_with(".log"))
    );
}

#[test]
fn limits_hold_and_say_what_they_left_out() {
    let world = World::new();
    for at in 0..40 {
        world.file(format!("f{at}.rs"), "pub fn lease() {}\n");
    }
    world.file("large.rs", "// lease\n".repeat(20));
    let open = |limits| CodebaseIndex::open_with(&world.project(), None, limits).unwrap();
    let usual = IndexLimits::default();
    let counts = |index: CodebaseIndex| (index.last_refresh().files, index.last_refresh().left_out);
    assert_eq!(counts(open(IndexLimits { files: 10, ..usual })), (10, 31));
    assert_eq!(
        counts(open(IndexLimits {
            file_bytes: 100,
            ..usual
        })),
        (40, 1)
    );
    assert_eq!(
        counts(open(IndexLimits {
            bytes: 180,
            ..usual
        })),
        (10, 31)
    );
    assert_eq!(open(usual).related("lease").files.len(), 10);
}

#[test]
fn a_hundred_thousand_files_are_walked_within_the_limits() {
    let world = World::new();
    for folder in 0..100 {
        std::fs::create_dir(world.project().join(format!("d{folder}"))).unwrap();
        for at in 0..1_000 {
            std::fs::File::create(world.project().join(format!("d{folder}/f{at}"))).unwrap();
        }
    }
    let limits = IndexLimits {
        files: 500,
        ..IndexLimits::default()
    };
    let index = CodebaseIndex::open_with(&world.project(), None, limits).unwrap();
    let refresh = index.last_refresh();
    assert_eq!((refresh.files, refresh.left_out), (500, 99_500));
}

#[test]
fn texts_made_to_explode_do_not() {
    let world = World::small();
    let deep = 20_000;
    let texts = [
        (
            "deep.rs",
            format!(
                "fn lease() {{ {}{} }}\n",
                "(\n".repeat(deep),
                ")\n".repeat(deep)
            ),
        ),
        (
            "deep.py",
            format!("x = {}{}\n", "[\n".repeat(deep), "]\n".repeat(deep)),
        ),
        ("open.js", "{\n".repeat(deep)),
        (
            "notes.go",
            format!("package a\n{}func lease() {{}}\n", "// a\n".repeat(deep)),
        ),
        ("names.c", "int a;\n".repeat(deep)),
        ("broken.java", "class class class (\n".repeat(10_000)),
        ("line.ts", "a".repeat(900_000)),
        (
            "data.rs",
            format!("fn lease() {{}}\0{}", "\0".repeat(1_000)),
        ),
        ("latin.c", String::from("int caf")),
    ];
    for (name, text) in &texts {
        world.file(name, text);
    }
    world.file("bytes.cpp", b"int caf\xe9() { return \xff\xfe; }\n");
    let refresh = world.open().last_refresh();
    assert_eq!((refresh.files, refresh.left_out), (13, 0));
    assert_eq!(world.paths("renew lease")[0], "src/lease.rs");
}
