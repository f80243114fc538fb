//! P16: a sandboxed process cannot change files that programs outside the sandbox apply later.

use windlass_core::DirAccess;
use windlass_sandbox::{Mechanism, Profile};

use super::support::{User, output_text, profiles};

#[tokio::test]
async fn p16_protected_paths_cannot_be_written_or_created() {
    let user = User::new();
    user.write("repository/.git/config", "[core]\n");
    user.write("repository/.git/hooks/pre-commit", "original");
    user.write("repository/.vscode/settings.json", "original");
    let clone = (DirAccess::Repository, &["config", "hooks", "ok"][..]);
    let checkout = (DirAccess::Files, &["config", "hooks"][..]);
    let cases = profiles().into_iter().flat_map(|profile| {
        [clone, checkout].map(|(access, in_git)| (profile.clone(), access, in_git))
    });
    for (profile, access, in_git) in cases {
        let script = "
            for file in .git/config .git/hooks/pre-commit .git/hooks/new .vscode/settings.json .vscode/tasks.json \
                .bashrc .envrc .mcp.json .claude/settings.json .codex/config.toml .cursor/mcp.json .gemini/settings.json; do
                { mkdir -p $(dirname $file); echo evil > $file; } 2>/dev/null && echo wrote $file
            done
            mv .git/hooks aside; mv .vscode aside; rm -rf .git/hooks .vscode; rmdir .claude
            mv .git aside && mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit
            rm -rf aside # a copy is harmless
            echo evil > .git/commondir
            echo objects can be written > .git/ok";
        let profile = profile.access(access);
        let _ = std::fs::remove_file(user.repository().join(".git/ok"));
        let output = user.run(Mechanism::Bubblewrap, profile, script).await;
        assert_eq!(output.stdout.text(), "");
        assert_eq!(
            std::fs::read_to_string(user.repository().join(".git/hooks/pre-commit")).unwrap(),
            "original"
        );
        assert_eq!(
            std::fs::read_to_string(user.repository().join(".vscode/settings.json")).unwrap(),
            "original"
        );
        assert_eq!(
            names(&user, ""),
            [".git", ".vscode"],
            "files were left over"
        );
        assert_eq!(names(&user, ".git"), in_git, "{access:?}");
    }
}

fn names(user: &User, dir: &str) -> Vec<String> {
    let entries = user.repository().join(dir).read_dir().unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A link cannot be covered, so it is restored afterwards. A hostile link must not prevent the
/// start.
#[tokio::test]
async fn p16_link_at_protected_path_is_restored() {
    for target in ["inside", "/nonexistent", "/usr", "../outside", ".", "loop"] {
        let user = User::new();
        let names = [".vscode", ".bashrc", ".git"].map(|name| user.repository().join(name));
        std::fs::create_dir(user.repository().join("inside")).unwrap();
        std::os::unix::fs::symlink("loop", user.repository().join("loop")).unwrap();
        for name in &names {
            std::os::unix::fs::symlink(target, name).unwrap();
        }
        let script = "echo evil > .vscode/tasks.json; rm -f .vscode .bashrc .git; mkdir .vscode; echo evil > .bashrc; echo ran";
        let output = user
            .run(Mechanism::Bubblewrap, Profile::agent(), script)
            .await;
        assert_eq!(
            output.stdout.text(),
            "ran\n",
            "{target}: {}",
            output_text(&output)
        );
        for name in &names {
            assert_eq!(name.read_link().unwrap(), std::path::Path::new(target));
        }
        assert_eq!(
            user.repository().join("inside").read_dir().unwrap().count(),
            0
        );
    }
}

#[tokio::test]
async fn p16_state_dir_at_protected_path_is_writable() {
    let user = User::new();
    let state = user.repository().join(".codex");
    let profile = Profile::agent().state(&state);
    user.run(
        Mechanism::Bubblewrap,
        profile,
        "echo session > .codex/session",
    )
    .await;
    assert!(state.join("session").exists());
}

#[tokio::test]
async fn empty_user_dir_is_neither_writable_nor_removed() {
    let user = User::new();
    let own = user.repository().join(".vscode");
    std::fs::create_dir(&own).unwrap();
    let script = "echo evil > .vscode/tasks.json; rmdir .vscode; ls -A";
    for profile in profiles() {
        let output = user.run(Mechanism::Bubblewrap, profile, script).await;
        assert!(
            output.stdout.text().contains(".vscode"),
            "{}",
            output_text(&output)
        );
        assert_eq!(names(&user, ""), [".vscode"]);
        assert_eq!(names(&user, ".vscode"), [""; 0]);
    }
}

/// The lock of an unrelated process looks like the lock of another sandbox.
#[tokio::test]
async fn mount_points_in_locked_dir_are_removed_by_next_start() {
    let user = User::new();
    let lock = std::fs::File::open(user.repository()).unwrap();
    lock.lock_shared().unwrap();
    user.run(Mechanism::Bubblewrap, Profile::tool(), "true")
        .await;
    assert_ne!(names(&user, ""), [""; 0], "there was nothing to remove");
    drop(lock);
    user.sandbox(Mechanism::Bubblewrap).await;
    assert_eq!(names(&user, ""), [""; 0]);
}

/// For example, tools that a model calls concurrently.
#[tokio::test]
async fn p16_concurrent_commands_keep_their_protection() {
    let user = User::new();
    let sandbox = user.sandbox(Mechanism::Bubblewrap).await;
    let script =
        |number| format!("sleep 0.{number}; mkdir .vscode/evil .git/hooks .claude/evil; echo ran");
    let specs = (0..30).map(|number| user.script(Profile::tool(), &script(number % 7)));
    let running: Vec<_> = specs.map(|spec| sandbox.spawn(spec).unwrap()).collect();
    for mut child in running {
        let ran = child.stdout.next().await.unwrap().map(|line| line.text());
        child.wait().await.unwrap();
        assert_eq!(ran.as_deref(), Some("ran"), "{}", child.stderr().text());
        assert_eq!(
            child
                .stderr()
                .text()
                .matches("mkdir: cannot create")
                .count(),
            3
        );
    }
    assert_eq!(names(&user, ""), [""; 0], "files were left over");
}
