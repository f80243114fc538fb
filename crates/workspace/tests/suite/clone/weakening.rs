//! Tests that a change weakens are reported.

use expect_test::{Expect, expect};

use super::harness::{Harness, put};

const RUST: &str = "#[test]\nfn adds() {\n    assert!(true);\n}\n\n#[test]\nfn subtracts() {\n    assert!(true);\n}\n";
const PYTHON: &str = "def test_one():\n    pass\n\n\ndef test_two():\n    pass\n";

/// Checks the warnings about a clone of a small project after this change.
async fn check(change: impl FnOnce(&std::path::Path), expected: Expect) {
    check_in(&Harness::new(), change, expected).await;
}

/// Like [`check`], in a project with additional files.
async fn check_in(harness: &Harness, change: impl FnOnce(&std::path::Path), expected: Expect) {
    harness.write("tests/it.rs", RUST);
    harness.write("tests/test_it.py", PYTHON);
    harness.write(
        "web/sum.test.js",
        "it('sums', () => {});\nit('is zero', () => {});\n",
    );
    harness.write(
        "package.json",
        "{\n  \"scripts\": {\n    \"test\": \"vitest run\"\n  }\n}\n",
    );
    harness.write("sum_test.go", "func TestSum(t *testing.T) {\n}\n");
    harness.commit("tests");
    let clone = harness.open().await;
    change(clone.root());
    let change = clone.change().await.unwrap();
    assert!(!change.is_empty());
    expected.assert_eq(&change.weakened_tests.join("\n"));
}

#[tokio::test]
async fn deleted_and_emptied_test_files_are_reported() {
    let change = |root: &std::path::Path| {
        std::fs::remove_file(root.join("tests/it.rs")).unwrap();
        put(root, "tests/test_it.py", "");
    };
    check(
        change,
        expect!["tests/it.rs: deleted\ntests/test_it.py: emptied"],
    )
    .await;
}

#[tokio::test]
async fn completely_replaced_test_files_are_reported() {
    let change = |root: &std::path::Path| {
        put(root, "tests/it.rs", "// later\n");
        put(root, "tests/fast.sh", "exit 0\n");
        put(root, "tests/slow.sh", "set -e\ntrue\n");
        std::fs::rename(root.join("tests/old.sh"), root.join("tests/new.sh")).unwrap();
    };
    let harness = Harness::new();
    harness.write("tests/fast.sh", "exit 1\n");
    harness.write("tests/slow.sh", "set -e\nfalse\n");
    harness.write("tests/old.sh", "true\n");
    check_in(
        &harness,
        change,
        expect!["tests/fast.sh: every line was replaced\ntests/it.rs: removes adds, subtracts"],
    )
    .await;
}

#[tokio::test]
async fn removed_and_skipped_tests_are_reported() {
    let change = |root: &std::path::Path| {
        put(
            root,
            "tests/it.rs",
            &RUST.replace("#[test]\nfn adds() {\n    assert!(true);\n}\n\n", ""),
        );
        put(
            root,
            "tests/test_it.py",
            &PYTHON.replace("def test_two", "@pytest.mark.skip\ndef test_two"),
        );
        put(
            root,
            "web/sum.test.js",
            "it('sums', () => {});\nit.skip('is zero', () => {});\n",
        );
        put(
            root,
            "sum_test.go",
            "func TestSum(t *testing.T) {\n\tt.Skip()\n}\n",
        );
    };
    check(
        change,
        expect![[r#"
            sum_test.go: adds `t.Skip(`
            tests/it.rs: removes adds
            tests/test_it.py: adds `pytest.mark.skip`
            web/sum.test.js: removes is zero
            web/sum.test.js: adds `it.skip(`"#]],
    )
    .await;
}

#[tokio::test]
async fn lost_test_attribute_and_changed_script_are_reported() {
    let change = |root: &std::path::Path| {
        put(root, "tests/it.rs", &RUST.replacen("#[test]\n", "", 1));
        put(
            root,
            "package.json",
            "{\n  \"scripts\": {\n    \"test\": \"true\"\n  }\n}\n",
        );
    };
    check(
        change,
        expect!["package.json: changes the test script\ntests/it.rs: removes adds"],
    )
    .await;
}

#[tokio::test]
async fn moved_and_edited_tests_are_not_reported() {
    let change = |root: &std::path::Path| {
        std::fs::rename(root.join("tests/it.rs"), root.join("tests/moved.rs")).unwrap();
        put(
            root,
            "tests/test_it.py",
            &PYTHON.replace("pass", "assert 1 == 1"),
        );
        put(root, "src/lib.txt", "text about it.skip and #[test]\n");
    };
    check(change, expect![""]).await;
}
