//! Attacks on file tools: each one fails, and nothing outside the workspace changes.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
use serde_json::{Value, json};

use super::support::{Tools, User};

/// Returns calls of every tool that takes a path, with the given path.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    let patch =
        |action: &str| json!({"patch": format!("*** Begin Patch\n{action}\n*** End Patch")});
    vec![
        ("fs_read", json!({"path": path})),
        ("fs_read", json!({"path": path, "max_lines": 1})),
        ("fs_list", json!({"path": path})),
        ("search", json!({"pattern": "canary", "path": path})),
        ("fs_write", json!({"path": path, "content": "evil"})),
        (
            "fs_edit",
            json!({"path": path, "old_string": "canary", "new_string": "evil"}),
        ),
        (
            "apply_patch",
            patch(&format!("*** Add File: {path}\n+evil")),
        ),
        (
            "apply_patch",
            patch(&format!("*** Update File: {path}\n-canary\n+evil")),
        ),
        (
            "apply_patch",
            patch(&format!(
                "*** Update File: own\n*** Move to: {path}\n-own\n+evil"
            )),
        ),
        (
            "apply_patch",
            json!({"patch": format!("--- a/own\n+++ b/{path}\n@@ -1 +1 @@\n-own\n+evil\n")}),
        ),
    ]
}

fn user() -> (User, Tools) {
    let user = User::new();
    user.write("outside/secret", "canary\n");
    user.put("own", "own\n");
    user.put("folder/file", "x");
    for (target, name) in [
        ("../outside", "up"),
        ("../outside/secret", "linked"),
        ("/etc", "etc"),
    ] {
        std::os::unix::fs::symlink(target, user.project().join(name)).unwrap();
    }
    let tools = user.files();
    (user, tools)
}

#[track_caller]
fn assert_untouched(user: &User) {
    let outside = user.home().join("outside");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(
        std::fs::read_to_string(outside.join("secret")).unwrap(),
        "canary\n"
    );
    assert_eq!(std::fs::read_dir(user.home()).unwrap().count(), 2);
    assert_eq!(user.text("own"), "own\n");
}

#[tokio::test]
async fn p17_path_outside_workspace_is_an_error_of_every_tool() {
    let (user, tools) = user();
    let absolute = user.home().join("outside/secret").display().to_string();
    for path in [
        "../outside/secret",
        "folder/../../outside/secret",
        absolute.as_str(),
        "C:\\outside\\secret",
        "\\\\outside\\secret",
        "up/secret",
        "up/new/deep",
        "etc/new",
    ] {
        for (tool, input) in calls(path) {
            // A diff strips the prefix of a path, so this path names an unknown drive.
            let error = tools.try_call(tool, input.clone()).await;
            let error = error.expect_err(&format!("{tool} {input}"));
            assert_eq!(error.to_string(), "path escapes sandbox", "{tool} {path}");
        }
    }
    assert_untouched(&user);
}

#[tokio::test]
async fn p17_invalid_or_protected_path_is_a_failed_result() {
    let (user, tools) = user();
    let project = user.project();
    mknodat(
        CWD,
        project.join("pipe"),
        FileType::Fifo,
        Mode::from_raw_mode(0o666),
        0,
    )
    .unwrap();
    let device = rustix::fs::makedev(1, 5);
    // Only root can create a device.
    let _ = mknodat(
        CWD,
        project.join("device"),
        FileType::CharacterDevice,
        Mode::from_raw_mode(0o666),
        device,
    );
    user.put(".git/config", "canary\n");
    let long = "x/".repeat(2047) + "xx";
    let writes = |path: &str| {
        calls(path)
            .into_iter()
            .filter(|(tool, _)| ["fs_write", "fs_edit", "apply_patch"].contains(tool))
            .collect::<Vec<_>>()
    };
    for path in [
        "a\0b",
        "pipe",
        "folder",
        "folder/file/x",
        &long,
        &"x".repeat(256),
        ".git/hooks/pre-commit",
        ".GIT/config",
        "folder/../.git/config",
        ".envrc",
        ".vscode/tasks.json",
    ] {
        for (tool, input) in writes(path) {
            let output = tools.try_call(tool, input.clone()).await;
            let output = output.unwrap_or_else(|error| panic!("{tool} {path}: {error}"));
            assert!(!output.success, "{tool} {path}: {}", output.text);
            assert!(output.text.len() < 500, "{}", output.text);
        }
    }
    for path in ["pipe", "device"] {
        let output = tools.call("fs_read", json!({"path": path})).await;
        assert!(!output.success, "{}", output.text);
    }
    assert_eq!(user.text(".git/config"), "canary\n");
    assert!(!project.join(".git/hooks").exists() && !project.join(".envrc").exists());
    assert_untouched(&user);
}

#[tokio::test]
async fn p17_write_to_hard_link_does_not_change_the_outside_file() {
    let (user, tools) = user();
    let secret = user.home().join("outside/secret");
    for (tool, input) in [
        ("fs_write", json!({"path": "hard", "content": "evil"})),
        (
            "fs_edit",
            json!({"path": "hard", "old_string": "canary", "new_string": "evil"}),
        ),
        (
            "apply_patch",
            json!({"patch": "*** Begin Patch\n*** Update File: hard\n-canary\n+evil\n*** End Patch"}),
        ),
    ] {
        let _ = std::fs::remove_file(user.project().join("hard"));
        std::fs::hard_link(&secret, user.project().join("hard")).unwrap();
        assert!(tools.call(tool, input).await.success, "{tool}");
        assert!(user.text("hard").starts_with("evil"));
        assert_untouched(&user);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p17_link_swapped_in_during_a_call_is_not_followed() {
    let (user, tools) = user();
    let project = user.project();
    std::fs::write(project.join("folder/secret"), "canary\n").unwrap();
    let stop = std::sync::Arc::new(AtomicBool::new(false));
    let swap = std::thread::spawn({
        let (stop, project) = (stop.clone(), project.clone());
        move || {
            while !stop.load(Ordering::Relaxed) {
                let (one, other) = (project.join("folder"), project.join("up"));
                renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
            }
        }
    });
    for _ in 0..60 {
        for (tool, input) in [
            (
                "fs_write",
                json!({"path": "folder/secret", "content": "evil"}),
            ),
            ("fs_write", json!({"path": "folder/new", "content": "evil"})),
            (
                "fs_edit",
                json!({"path": "folder/secret", "old_string": "canary", "new_string": "evil"}),
            ),
            (
                "apply_patch",
                json!({"patch": "*** Begin Patch\n*** Add File: folder/deep/x\n+evil\n*** End Patch"}),
            ),
        ] {
            let _ = tools.try_call(tool, input).await;
        }
    }
    stop.store(true, Ordering::Relaxed);
    swap.join().unwrap();
    assert_untouched(&user);
}
