//! What comes first, and why.

use expect_test::expect;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use windlass_core::workspace::TaskContext;
use windlass_index::PastCommit;

use super::World;

#[test]
fn the_answer_names_files_and_symbols_with_reasons() {
    let related = World::small()
        .open()
        .related("Heartbeats must renew the lease");
    let mut told = String::new();
    for file in &related.files {
        told += &format!("{}: {}\n", file.path, file.why);
    }
    for symbol in &related.symbols {
        told += &format!(
            "{}:{} {} {}: {}\n",
            symbol.path, symbol.line, symbol.kind, symbol.name, symbol.why
        );
    }
    expect![[r#"
        src/lease.rs: says Heartbeats, lease, renew; its path says lease; defines lease, renew
        src/clock.rs: other likely files refer to it
        src/lease.rs:2 function renew_lease: its name says lease, renew
    "#]]
    .assert_eq(&told);
}

#[test]
fn identifiers_are_found_by_their_parts_and_whole() {
    let world = World::small();
    world.file(
        "src/camel.ts",
        "export class HTTPServerPool { acquireSlot() {} }\n",
    );
    for task in [
        "HTTPServerPool",
        "the http server pools",
        "acquiring a slot",
        "acquire_slot",
    ] {
        assert_eq!(world.paths(task)[0], "src/camel.ts", "{task}");
    }
}

#[test]
fn code_comes_before_tests_and_prose_that_say_the_same() {
    let world = World::new();
    let text = "def renew_lease():\n    pass\n";
    for path in ["tests/test_lease.py", "lease.py", "docs/lease.md"] {
        world.file(path, text);
    }
    assert_eq!(world.paths("renew lease")[0], "lease.py");
}

#[test]
fn the_past_has_a_say() {
    let world = World::small();
    world.file("src/odd.rs", "pub fn nothing_telling() {}\n");
    let commit = |message: &str, files: &[&str]| PastCommit {
        message: message.to_owned(),
        files: files.iter().map(|file| (*file).to_owned()).collect(),
    };
    let commits = [
        commit(
            "Fix the flicker of the dashboard",
            &["src/odd.rs", "gone.rs"],
        ),
        commit("Something else", &["src/clock.rs"]),
    ];
    let mut index = world.open();
    index.add_history("c1", &commits, None);
    assert_eq!(
        index.related("dashboard flicker").files[0].path,
        "src/odd.rs"
    );
    assert_eq!(
        (index.history_head(), index.commit_count()),
        (Some("c1"), 2)
    );

    // It is kept, and newer commits follow upon it.
    let mut index = world.open();
    assert_eq!(
        index.related("dashboard flicker").files[0].path,
        "src/odd.rs"
    );
    index.add_history("c2", &[commit("Newest", &["src/paint.rs"])], Some("c1"));
    assert_eq!(
        (index.history_head(), index.commit_count()),
        (Some("c2"), 3)
    );
    index.add_history("c9", &[], Some("c7"));
    assert_eq!(index.commit_count(), 0);
}

#[test]
fn an_answer_is_bounded_and_always_the_same() {
    let world = World::new();
    for at in 0..50 {
        world.file(
            format!("m{at:02}.rs"),
            "pub fn renew_lease() {}\npub fn drop_lease() {}\n",
        );
    }
    let related = world.open().related("renew lease");
    assert_eq!(related.files.len(), TaskContext::MAX_FILES);
    assert_eq!(related.symbols.len(), TaskContext::MAX_SYMBOLS);
    assert_eq!(related.files[0].path, "m00.rs");
    for _ in 0..3 {
        std::fs::remove_file(world.cache()).unwrap();
        assert_eq!(world.open().related("renew lease"), related);
    }
    assert_eq!(world.open().related(""), Default::default());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("proptest-regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_text_can_be_indexed_and_asked(text: Vec<u8>, task: String) {
        let world = World::new();
        for name in ["a.rs", "a.py", "a.ts", "a.go", "A.java", "a.c", "a.cpp", "a.txt"] {
            world.file(name, &text);
        }
        let related = world.open().related(&task);
        prop_assert!(related.files.len() <= 8);
    }
}
