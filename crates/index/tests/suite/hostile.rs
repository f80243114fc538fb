//! Trees that are designed to break an indexer.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use windlass_index::{CodebaseIndex, IndexLimits};

use super::Harness;

#[test]
fn symlinks_are_not_followed() {
    let (harness, secret) = (Harness::small(), Harness::new());
    secret.file("secret.rs", "pub fn outside() {}\n");
    symlink("..", harness.project().join("src/loop")).unwrap();
    symlink(secret.project(), harness.project().join("out")).unwrap();
    symlink(
        secret.project().join("secret.rs"),
        harness.project().join("secret.rs"),
    )
    .unwrap();
    assert_eq!(harness.open().last_refresh().files, 3);
    assert_eq!(harness.paths("outside"), Vec::<String>::new());
}

#[test]
fn non_utf8_names_are_skipped_and_counted() {
    let harness = Harness::small();
    harness.file(OsStr::from_bytes(b"bad\xff.rs"), "pub fn a() {}\n");
    harness.file("new\nline \u{202e}.rs", "pub fn strange_name() {}\n");
    let refresh = harness.open().last_refresh();
    assert_eq!((refresh.files, refresh.skipped), (4, 1));
    assert_eq!(harness.paths("strange name").len(), 1);
}

#[test]
fn gitignored_files_are_skipped() {
    let harness = Harness::small();
    harness
        .file(".gitignore", "/made/\n*.log\n")
        .file("made/big.rs", "pub fn lease() {}\n")
        .file("lease.log", "lease\n")
        .file(".github/lease.yml", "lease: renew\n");
    let paths = harness.paths("renew lease");
    assert_eq!(&paths[..2], ["src/lease.rs", ".github/lease.yml"]);
    assert!(
        !paths
            .iter()
            .any(|path| path.ends_with("big.rs") || path.ends_with(".log"))
    );
}

#[test]
fn limits_apply_and_skipped_files_are_counted() {
    let harness = Harness::new();
    for at in 0..40 {
        harness.file(format!("f{at}.rs"), "pub fn lease() {}\n");
    }
    harness.file("large.rs", "// lease\n".repeat(20));
    let open = |limits| CodebaseIndex::open_with(&harness.project(), None, limits).unwrap();
    let default = IndexLimits::default();
    let counts = |index: CodebaseIndex| (index.last_refresh().files, index.last_refresh().skipped);
    assert_eq!(
        counts(open(IndexLimits {
            files: 10,
            ..default
        })),
        (10, 31)
    );
    assert_eq!(
        counts(open(IndexLimits {
            file_bytes: 100,
            ..default
        })),
        (40, 1)
    );
    assert_eq!(
        counts(open(IndexLimits {
            bytes: 180,
            ..default
        })),
        (10, 31)
    );
    assert_eq!(open(default).related("lease").files.len(), 10);
}

#[test]
fn pathological_files_are_indexed() {
    let harness = Harness::small();
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
        harness.file(name, text);
    }
    harness.file("bytes.cpp", b"int caf\xe9() { return \xff\xfe; }\n");
    let refresh = harness.open().last_refresh();
    assert_eq!((refresh.files, refresh.skipped), (13, 0));
    assert_eq!(harness.paths("renew lease")[0], "src/lease.rs");
}

mod exhaustive {
    use super::*;

    #[test]
    fn hundred_thousand_files_are_walked_within_limits() {
        let harness = Harness::new();
        for dir in 0..100 {
            std::fs::create_dir(harness.project().join(format!("d{dir}"))).unwrap();
            for at in 0..1_000 {
                std::fs::File::create(harness.project().join(format!("d{dir}/f{at}"))).unwrap();
            }
        }
        let limits = IndexLimits {
            files: 500,
            ..IndexLimits::default()
        };
        let index = CodebaseIndex::open_with(&harness.project(), None, limits).unwrap();
        let refresh = index.last_refresh();
        assert_eq!((refresh.files, refresh.skipped), (500, 99_500));
    }
}
