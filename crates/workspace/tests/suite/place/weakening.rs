//! Tests that a change takes away are told.

use expect_test::{Expect, expect};

use super::world::{World, put};

const RUST: &str = "#[test]\nfn adds() {\n    assert!(true);\n}\n\n#[test]\nfn subtracts() {\n    assert!(true);\n}\n";
const PYTHON: &str = "def test_one():\n    pass\n\n\ndef test_two():\n    pass\n";

/// What is told about a clone of a small project after it was changed like this.
async fn check(change: impl FnOnce(&std::path::Path), expected: Expect) {
    check_in(&World::new(), change, expected).await;
}

/// The same, in a project that has files of its own.
async fn check_in(world: &World, change: impl FnOnce(&std::path::Path), expected: Expect) {
    world.write("tests/it.rs", RUST);
    world.write("tests/test_it.py", PYTHON);
    world.write(
        "web/sum.test.js",
        "it('sums', () => {});\nit('is zero', () => {});\n",
    );
    world.write(
        "package.json",
        "{\n  \"scripts\": {\n    \"test\": \"vitest run\"\n  }\n}\n",
    );
    world.write("sum_test.go", "func TestSum(t *testing.T) {\n}\n");
    world.commit("tests");
    let place = world.open().await;
    change(place.root());
    let change = place.change().await.unwrap();
    assert!(!change.is_empty());
    expected.assert_eq(&change.weakened_tests.join("\n"));
}

#[tokio::test]
async fn a_deleted_and_an_emptied_test_file() {
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
async fn a_test_file_of_which_nothing_is_left() {
    let change = |root: &std::path::Path| {
        put(root, "tests/it.rs", "// later\n");
        put(root, "tests/fast.sh", "exit 0\n");
        put(root, "tests/slow.sh", "set -e\ntrue\n");
        std::fs::rename(root.join("tests/old.sh"), root.join("tests/new.sh")).unwrap();
    };
    let world = World::new();
    world.write("tests/fast.sh", "exit 1\n");
    world.write("tests/slow.sh", "set -e\nfalse\n");
    world.write("tests/old.sh", "true\n");
    check_in(
        &world,
        change,
        expect!["tests/fast.sh: no line of it was kept\ntests/it.rs: removes adds, subtracts"],
    )
    .await;
}

#[tokio::test]
async fn a_removed_test_and_a_skipped_one() {
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
async fn a_test_without_its_mark_and_another_script() {
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
async fn a_moved_or_changed_test_is_still_there() {
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
