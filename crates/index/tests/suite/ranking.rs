//! The ranking order and its explanations.

use expect_test::expect;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use windlass_tasks::TaskContext;

use super::{Harness, commit};

#[test]
fn result_lists_files_and_symbols_with_reasons() {
    let related = Harness::small()
        .open()
        .related("Heartbeats must renew the lease");
    let mut output = String::new();
    for file in &related.files {
        output += &format!("{}: {}\n", file.path, file.why);
    }
    for symbol in &related.symbols {
        output += &format!(
            "{}:{} {} {}: {}\n",
            symbol.path, symbol.line, symbol.kind, symbol.name, symbol.why
        );
    }
    expect![[r#"
        src/lease.rs: contains Heartbeats, lease, renew; path contains lease; defines lease, renew
        src/lease.rs:2 function renew_lease: name contains lease, renew
    "#]]
    .assert_eq(&output);
}

#[test]
fn identifiers_are_found_whole_and_by_parts() {
    let harness = Harness::small();
    harness.file(
        "src/camel.ts",
        "export class HTTPServerPool { acquireSlot() {} }\n",
    );
    for task in [
        "HTTPServerPool",
        "the http server pools",
        "acquiring a slot",
        "acquire_slot",
    ] {
        assert_eq!(harness.paths(task)[0], "src/camel.ts", "{task}");
    }
}

#[test]
fn code_ranks_before_tests_and_docs() {
    let harness = Harness::new();
    let text = "def renew_lease():\n    pass\n";
    for path in ["tests/test_lease.py", "lease.py", "docs/lease.md"] {
        harness.file(path, text);
    }
    assert_eq!(harness.paths("renew lease")[0], "lease.py");
}

#[test]
fn history_affects_ranking() {
    let harness = Harness::small();
    harness.file("src/odd.rs", "pub fn unrelated_name() {}\n");
    let commits = [
        commit(
            "Fix the flicker of the dashboard",
            &["src/odd.rs", "gone.rs"],
        ),
        commit("Something else", &["src/clock.rs"]),
    ];
    let mut index = harness.open();
    index.add_history("c1", &commits, None);
    assert_eq!(
        index.related("dashboard flicker").files[0].path,
        "src/odd.rs"
    );
    assert_eq!(
        (index.history_head(), index.commit_count()),
        (Some("c1"), 2)
    );

    // The history is cached, and newer commits extend it.
    let mut index = harness.open();
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
fn result_is_bounded_and_deterministic() {
    let harness = Harness::new();
    for at in 0..50 {
        harness.file(
            format!("m{at:02}.rs"),
            "pub fn renew_lease() {}\npub fn drop_lease() {}\n",
        );
    }
    let related = harness.open().related("renew lease");
    assert_eq!(related.files.len(), TaskContext::MAX_FILES);
    assert_eq!(related.symbols.len(), TaskContext::MAX_SYMBOLS);
    assert_eq!(related.files[0].path, "m00.rs");
    for _ in 0..3 {
        std::fs::remove_file(harness.cache()).unwrap();
        assert_eq!(harness.open().related("renew lease"), related);
    }
    assert_eq!(harness.open().related(""), Default::default());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("proptest-regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_text_can_be_indexed_and_queried(text: Vec<u8>, task: String) {
        let harness = Harness::new();
        for name in ["a.rs", "a.py", "a.ts", "a.go", "A.java", "a.c", "a.cpp", "a.txt"] {
            harness.file(name, &text);
        }
        let related = harness.open().related(&task);
        prop_assert!(related.files.len() <= 8);
    }
}
