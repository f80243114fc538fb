//! P16: files that no process may read, in every profile, under every mechanism.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use windlass_core::DirAccess;
use windlass_sandbox::{CommandSpec, HOME_PATHS, HOME_SECRETS, LimitOverrides, Mechanism, Profile};

use super::support::{ALL, ISOLATING, User, output_text, profiles};

/// Files of the home directory that are on no list of secrets.
const UNLISTED: &[&str] = &[
    "canary",
    "other-project/.env",
    "other-project/src/main.rs",
    ".local/state/windlass/server-token",
    ".local/state/windlass/clones/abc/1-1/other/file",
    ".local/state/windlass/agents/claude/.credentials.json",
    ".local/state/windlass/stores/other.db",
    ".config/windlass/windlass.toml",
    ".cache/windlass/index/other.db",
    ".config/unknown-program/token",
    "go/src/example.org/other/main.go",
    ".claude/.credentials.json",
    ".codex/auth.json",
];

const ACCESS: [DirAccess; 3] = [DirAccess::ReadOnly, DirAccess::Files, DirAccess::Repository];

/// Returns a script that prints the name of every file that it could read.
fn script(files: &[PathBuf]) -> String {
    let names: Vec<String> = files
        .iter()
        .map(|file| format!("'{}'", file.display()))
        .collect();
    format!(
        "for file in {}; do grep -qs canary \"$file\" && echo \"read $file\"; done; echo looked",
        names.join(" ")
    )
}

#[tokio::test]
async fn p16_canaries_are_unreadable_everywhere() {
    let user = User::new();
    // Another project outside the home directory.
    let elsewhere = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let outside = elsewhere.path().join(".env");
    std::fs::write(&outside, "canary").unwrap();
    let secrets = HOME_SECRETS.iter().map(|name| format!("{name}/canary"));
    let names: Vec<String> = secrets
        .chain(UNLISTED.iter().map(|name| (*name).to_owned()))
        .collect();
    let mut files = vec![outside];
    files.extend(names.iter().map(|name| user.write(name, "canary")));
    let script = script(&files);
    for mechanism in ISOLATING {
        for profile in profiles() {
            for access in ACCESS {
                let profile = profile.clone().access(access);
                let kind = profile.kind().as_str();
                let output = user.run(mechanism, profile, &script).await;
                assert_eq!(
                    output_text(&output),
                    "looked",
                    "{mechanism} {kind} {access:?}"
                );
            }
        }
    }
    let unprotected = user.run(Mechanism::None, Profile::tool(), &script).await;
    let found = output_text(&unprotected).matches("read ").count();
    assert_eq!(found, files.len(), "{}", output_text(&unprotected));
}

#[tokio::test]
async fn listed_home_paths_are_readable_in_their_profiles() {
    let user = User::new();
    let listed: Vec<(&str, PathBuf)> = HOME_PATHS
        .iter()
        .flat_map(|row| row.paths)
        .map(|name| (*name, user.write(&format!("{name}/file"), "canary")))
        .collect();
    let files: Vec<PathBuf> = listed.iter().map(|(_, file)| file.clone()).collect();
    for mechanism in ISOLATING {
        for profile in profiles() {
            let kind = profile.kind();
            let output = user.run(mechanism, profile, &script(&files)).await;
            let text = output_text(&output);
            for (name, file) in &listed {
                let mut rows = HOME_PATHS.iter().filter(|row| row.paths.contains(name));
                let expected = rows.any(|row| row.kinds.contains(&kind));
                let line = format!("read {}\n", file.display());
                assert_eq!(
                    text.contains(&line),
                    expected,
                    "{mechanism} {kind:?} {name}"
                );
            }
        }
    }
}

/// The working directory is visible wherever it is, but not the secrets in it.
#[tokio::test]
async fn p16_home_dir_as_working_dir_does_not_show_secrets() {
    let user = User::new();
    let hidden = [
        ".ssh/id",
        ".local/state/windlass/server-token",
        ".config/windlass/windlass.toml",
    ];
    let files: Vec<PathBuf> = hidden
        .iter()
        .map(|name| user.write(name, "canary"))
        .collect();
    for mechanism in ISOLATING {
        for profile in profiles() {
            let spec = CommandSpec::new("bash", user.home(), profile).args(["-c", &script(&files)]);
            let output = user.sandbox(mechanism).await.run(spec).await.unwrap();
            assert_eq!(output_text(&output), "looked", "{mechanism}");
        }
    }
}

#[tokio::test]
async fn p16_sockets_in_home_are_unreachable_under_bubblewrap() {
    let user = User::new();
    let path = user.home().join(".1password/agent.sock");
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    let _daemon = UnixListener::bind(&path).unwrap();
    let script = format!(
        "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{}\"); print(\"connected\")' 2>/dev/null",
        path.display()
    );
    for profile in profiles() {
        let output = user.run(Mechanism::Bubblewrap, profile, &script).await;
        assert_eq!(output_text(&output), "");
    }
    // Landlock has no rule for connecting to a socket; docs/sandbox.md says so.
    for mechanism in [Mechanism::Landlock, Mechanism::None] {
        let output = user.run(mechanism, Profile::agent(), &script).await;
        assert_eq!(output_text(&output), "connected", "{mechanism}");
    }
}

#[tokio::test]
async fn p16_no_socket_of_the_system_is_visible() {
    let user = User::new();
    let script = "find /run /var /srv /mnt /media /home -type s 2>/dev/null; ls /var /run | grep -c log; echo looked";
    for profile in profiles() {
        let output = user.run(Mechanism::Bubblewrap, profile, script).await;
        assert_eq!(output_text(&output), "0\nlooked");
    }
}

/// A private directory must not fill the memory of the machine.
#[tokio::test]
async fn p16_private_dirs_are_empty_and_bounded() {
    let user = User::new();
    let script = "df --output=size -k /tmp /var/tmp ~ /dev/shm | tail -n +2 | tr -d ' '
        ls -A /tmp /dev/shm; touch /dev/evil 2>/dev/null && echo wrote";
    let mut expected = "1048576\n1048576\n1048576\n524288\n/dev/shm:\n\n/tmp:".to_owned();
    // The directory of the program is visible, also in a checkout below `/tmp`.
    if let Ok(checkout) = Path::new(env!("CARGO_TARGET_TMPDIR")).strip_prefix("/tmp") {
        let top = checkout.iter().next().unwrap();
        expected.push_str(&format!("\n{}", top.to_str().unwrap()));
    }
    let limits = LimitOverrides {
        memory_bytes: Some(1 << 30),
        ..LimitOverrides::default()
    };
    let sandbox = user.sandbox(Mechanism::Bubblewrap).await;
    let sandbox = sandbox.with_limits(limits);
    for profile in profiles() {
        let output = sandbox.run(user.script(profile, script)).await.unwrap();
        assert_eq!(output_text(&output), expected);
    }
    for mechanism in ISOLATING {
        let name = format!("/dev/shm/windlass-canary-{}", std::process::id());
        std::fs::write(&name, "canary").unwrap();
        for profile in profiles() {
            let script = format!(
                "cat {name} 2>/dev/null; echo own > \"$TMPDIR/own\" && cat \"$TMPDIR/own\""
            );
            let output = user.run(mechanism, profile, &script).await;
            assert_eq!(output_text(&output), "own", "{mechanism}");
        }
        std::fs::remove_file(&name).unwrap();
    }
}

#[tokio::test]
async fn p16_read_only_working_dir_cannot_be_changed() {
    let user = User::new();
    user.write("repository/file", "original");
    let script = "echo evil > new; echo evil > file; rm -f file; mv file other; chmod 777 file; mkdir d; ln -s x l
        cat file";
    for mechanism in ISOLATING {
        for profile in profiles() {
            let profile = profile
                .access(DirAccess::ReadOnly)
                .write(user.repository())
                .state(user.repository().join("state"));
            let _ = std::fs::remove_dir(user.repository().join("state"));
            let output = user.run(mechanism, profile, script).await;
            assert_eq!(output.stdout.text(), "original", "{mechanism}");
            let names: Vec<_> = user.repository().read_dir().unwrap().collect();
            assert_eq!(names.len(), 2, "{mechanism}: {names:?}");
        }
    }
    for mechanism in ALL {
        let output = user
            .run(mechanism, Profile::agent(), "echo new > new && cat new")
            .await;
        assert_eq!(output_text(&output), "new", "{mechanism}");
    }
}

/// Dotfiles are often links into another directory.
#[tokio::test]
async fn linked_settings_and_state_work() {
    let user = User::new();
    user.write("dotfiles/gitconfig", "[user]\n\tname = Zoe\n");
    user.write("dotfiles/secret", "canary");
    std::fs::create_dir(user.home().join("dotfiles/agent")).unwrap();
    for (link, target) in [
        (".gitconfig", "dotfiles/gitconfig"),
        (".agent", "dotfiles/agent"),
    ] {
        std::os::unix::fs::symlink(target, user.home().join(link)).unwrap();
    }
    let script = "git config --global user.name; echo session >> ~/.agent/session; cat ~/dotfiles/secret 2>/dev/null";
    for mechanism in ISOLATING {
        let profile = Profile::agent().state(user.home().join(".agent"));
        let output = user.run(mechanism, profile, script).await;
        assert_eq!(output_text(&output), "Zoe", "{mechanism}");
    }
    let written = std::fs::read_to_string(user.home().join("dotfiles/agent/session")).unwrap();
    assert_eq!(written, "session\nsession\n");
}
