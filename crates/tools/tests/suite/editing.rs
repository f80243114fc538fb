//! Edits of single files, and patches of several.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use windlass_core::Toolbox;
use windlass_sandbox::Mechanism;
use windlass_tools::{LocalTools, apply_patch, fs_edit};

use super::support::User;

#[test]
fn edit_replaces_unique_text_or_changes_nothing() {
    let user = User::new();
    let root = user.root();
    user.put("a.txt", "one\ntwo\none\n");
    let edit = |old: &str, new: &str, all| fs_edit(&root, "a.txt", old, new, all).unwrap();
    assert_eq!(edit("two", "2", false).detail, "edited a.txt (line 2)");
    assert!(!edit("one", "1", false).ok && !edit("none", "1", false).ok);
    assert_eq!(user.text("a.txt"), "one\n2\none\n");
    assert_eq!(edit("one", "1", true).detail, "edited a.txt (line 1, 3)");
    assert_eq!(user.text("a.txt"), "1\n2\n1\n");
    assert_eq!(
        fs_edit(&root, "none", "a", "b", false).unwrap().detail,
        "edit: not found: none"
    );
    assert!(fs_edit(&root, "../x", "a", "b", false).is_err());
}

#[test]
fn patch_adds_changes_moves_and_deletes() {
    let user = User::new();
    user.put("change", "a\nb\nc\n");
    let moved = user.put("move", "x\n");
    std::fs::set_permissions(&moved, PermissionsExt::from_mode(0o755)).unwrap();
    user.put("gone", "y\n");
    let patch = "*** Begin Patch\n*** Add File: new/file\n+hello\n*** Update File: change\n a\n-b\n+B\n\
        *** Update File: move\n*** Move to: moved/here\n-x\n+z\n*** Delete File: gone\n*** End Patch";
    let result = apply_patch(&user.root(), patch).unwrap();
    assert_eq!(result.detail, "A new/file\nM change\nM moved/here\nD gone");
    assert_eq!(user.text("new/file"), "hello\n");
    assert_eq!(user.text("change"), "a\nB\nc\n");
    assert_eq!(user.text("moved/here"), "z\n");
    let mode = user
        .project()
        .join("moved/here")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o100, 0o100);
    assert!(!user.project().join("gone").exists() && !user.project().join("move").exists());
    let diff = "--- a/change\n+++ b/change\n@@ -1,3 +1,2 @@\n-a\n B\n c\n";
    assert!(apply_patch(&user.root(), diff).unwrap().ok);
    assert_eq!(user.text("change"), "B\nc\n");
}

#[test]
fn p17_patch_that_does_not_match_changes_nothing() {
    let user = User::new();
    let outside = user.write("outside", "kept");
    user.put("a", "one\none\n");
    user.put("b", "two\n");
    let first = "*** Add File: first\n+x\n*** Update File: b\n-two\n+2\n";
    for (rest, expected) in [
        (
            "*** Update File: a\n-one\n+1\n",
            "patch: a: hunk 1: these lines occur 2 times",
        ),
        (
            "*** Update File: a\n-three\n",
            "patch: a: hunk 1: these lines were not found",
        ),
        ("*** Delete File: none\n", "patch: not found: none"),
        ("*** Add File: a\n+x\n", "patch: already exists: a"),
        (
            "*** Update File: a\n*** Move to: b\n",
            "patch: already exists: b",
        ),
        (
            "*** Add File: .git/hooks/pre-commit\n+x\n",
            "patch: refused: .git/hooks/pre-commit",
        ),
        (
            "*** Add File: a/b\n+x\n",
            "patch: refused: a/b: a parent of the path",
        ),
        ("hello\n", "patch: line 7: expected"),
    ] {
        let patch = format!("*** Begin Patch\n{first}{rest}*** End Patch");
        let result = apply_patch(&user.root(), &patch).unwrap();
        assert!(
            !result.ok && result.detail.starts_with(expected),
            "{}",
            result.detail
        );
    }
    for rest in [
        "*** Delete File: ../outside\n",
        "*** Add File: /etc/new\n+x\n",
        "*** Update File: a\n*** Move to: ../moved\n",
    ] {
        let patch = format!("*** Begin Patch\n{first}{rest}*** End Patch");
        assert!(
            apply_patch(&user.root(), &patch).unwrap_err().is_escape(),
            "{rest}"
        );
    }
    assert_eq!(
        (user.text("a"), user.text("b")),
        ("one\none\n".into(), "two\n".into())
    );
    assert!(!user.project().join("first").exists());
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "kept");
}

#[tokio::test]
async fn p12_long_file_is_truncated_and_readable_by_lines() {
    let user = User::new();
    let tools = user.files();
    let text: String = (0..300_000)
        .map(|number| format!("line {number}\n"))
        .collect();
    user.put("long", &text);
    let read = async |input| tools.call("fs_read", input).await.text;
    let whole = read(json!({"path": "long"})).await;
    assert!(whole.len() < (1 << 20) + 40, "{}", whole.len());
    assert!(whole.starts_with("line 0\n") && whole.ends_with("line 299999\n"));
    assert!(whole.contains("[… ") && whole.contains(" bytes cut …]"));
    let some = json!({"path": "long", "start_line": 200_001, "max_lines": 2});
    assert_eq!(read(some).await, "line 200000\nline 200001\n");
    let late = json!({"path": "long", "start_line": 900_000});
    assert_eq!(read(late).await, "[the file ends before line 900000]");
    // Multi-byte characters are not split by the truncation.
    user.put("wide", &"é".repeat(1 << 20));
    let wide = read(json!({"path": "wide"})).await;
    assert!(wide.starts_with('é') && wide.ends_with('é'));
    let sparse = std::fs::File::create(user.project().join("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    assert!(read(json!({"path": "sparse"})).await.contains("bytes cut"));
}

/// Diffs of the real git are applied to the files they were made from.
#[tokio::test]
async fn real_git_diffs_are_applied() {
    let user = User::new();
    let numbers =
        |from: u32, to: u32| -> String { (from..to).map(|n| format!("{}\n", n % 7)).collect() };
    user.put("long.txt", &numbers(0, 300));
    user.put("crlf.txt", "a\r\nb\r\nc\r\n");
    user.put("gone.txt", "bye\n");
    user.put("open.txt", "no newline");
    // A sandboxed command cannot create a repository.
    let sandbox = user.sandbox(Mechanism::None).await;
    let tools = user.tools_of(LocalTools::unconfined(sandbox));
    let git = "git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm x";
    let created = tools.shell(git).await;
    assert!(created.success, "{}", created.text);
    let after = format!("0\nnew\n{}changed\n{}", numbers(1, 150), numbers(152, 299));
    user.put("long.txt", &after);
    user.put("crlf.txt", "a\r\nB\r\nc\r\n");
    user.put("new/file.txt", "hello\n");
    user.put("open.txt", "no newline\nstill none");
    std::fs::remove_file(user.project().join("gone.txt")).unwrap();
    let diff = tools.shell("git add -A && git diff --cached").await;
    let diff = diff.output["stdout"].as_str().unwrap().to_owned();
    assert!(
        tools
            .shell("git stash -q 2>&1 || git reset -q --hard")
            .await
            .success
    );
    assert!(user.project().join("gone.txt").exists() && user.text("long.txt") == numbers(0, 300));
    let result = apply_patch(&user.root(), &diff).unwrap();
    assert!(result.ok, "{}\n{diff}", result.detail);
    assert_eq!(user.text("long.txt"), after);
    assert_eq!(user.text("crlf.txt"), "a\r\nB\r\nc\r\n");
    assert_eq!(user.text("new/file.txt"), "hello\n");
    assert_eq!(user.text("open.txt"), "no newline\nstill none");
    assert!(!user.project().join("gone.txt").exists());
}

/// Permission rules with paths must see all affected files.
#[test]
fn patch_reports_all_affected_paths() {
    let user = User::new();
    let tools = LocalTools::without_isolation("a test")
        .tools(&user.project(), windlass_core::DirAccess::Files)
        .unwrap();
    let tool = tools
        .iter()
        .find(|tool| tool.spec().name == "apply_patch")
        .unwrap();
    let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c/d\n-x\n*** Delete File: e\n*** End Patch";
    let paths = |input: serde_json::Value| tool.paths(&input);
    assert_eq!(paths(json!({ "patch": patch })), ["a", "b", "c/d", "e"]);
    assert_eq!(paths(json!({ "input": "--- a/x\n+++ /dev/null\n" })), ["x"]);
    assert!(paths(json!({ "patch": "nothing" })).is_empty());
    let write = tools
        .iter()
        .find(|tool| tool.spec().name == "fs_write")
        .unwrap();
    assert_eq!(write.paths(&json!({ "path": "z", "content": "" })), ["z"]);
}
