//! P16: what a process may see and change.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use windlass_core::ErrorCode;
use windlass_sandbox::{Host, Mechanism, Profile, Sandbox, Spec};

use super::support::{BOUND, User, profiles, said};

#[tokio::test]
async fn p16_only_the_workplace_and_a_private_tmp_can_be_written() {
    let user = User::new();
    let home = user.home();
    let outside = [
        home.join("new"),
        home.join(".bashrc"),
        "/etc/new".into(),
        "/usr/bin/new".into(),
        "/new".into(),
    ];
    for mechanism in BOUND {
        for profile in profiles() {
            let kind = profile.kind().as_str();
            let output = user
                .run(
                    mechanism,
                    profile.clone(),
                    "touch here $TMPDIR/there && echo both",
                )
                .await;
            assert_eq!(said(&output), "both", "{mechanism} {kind}");
            for path in &outside {
                user.run(
                    mechanism,
                    profile.clone(),
                    &format!("echo evil >> {}", path.display()),
                )
                .await;
                assert!(
                    !path.exists(),
                    "{mechanism} {kind} wrote {}",
                    path.display()
                );
            }
        }
    }
}

#[tokio::test]
async fn p16_an_agent_writes_its_own_state_and_no_other() {
    let user = User::new();
    let (own, other) = (
        user.home().join(".own"),
        user.write(".other/settings", "kept"),
    );
    for mechanism in BOUND {
        let profile = Profile::agent().state(&own);
        user.run(
            mechanism,
            profile,
            "echo session > ~/.own/session; echo evil > ~/.other/settings",
        )
        .await;
        assert_eq!(
            std::fs::read_to_string(own.join("session")).unwrap(),
            "session\n",
            "{mechanism}"
        );
        assert_eq!(
            std::fs::read_to_string(&other).unwrap(),
            "kept",
            "{mechanism}"
        );
        std::fs::remove_file(own.join("session")).unwrap();
    }
}

#[tokio::test]
async fn p16_secrets_of_the_user_are_hidden_from_everyone() {
    let user = User::new();
    let secrets = [
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".gnupg/key",
        ".config/gh/hosts.yml",
        ".netrc",
        ".cargo/credentials.toml",
    ];
    let secrets = secrets.map(|name| user.write(name, "canary"));
    user.write(".cargo/config.toml", "readable");
    for mechanism in BOUND {
        for profile in profiles() {
            let kind = profile.kind().as_str();
            for secret in &secrets {
                let output = user
                    .run(
                        mechanism,
                        profile.clone(),
                        &format!("cat {}", secret.display()),
                    )
                    .await;
                assert!(
                    !said(&output).contains("canary"),
                    "{mechanism} {kind} read {}",
                    secret.display()
                );
            }
            let script = format!("cat {}/.cargo/config.toml", user.home().display());
            assert_eq!(
                said(&user.run(mechanism, profile, &script).await),
                "readable",
                "{mechanism} {kind}"
            );
        }
    }
}

#[tokio::test]
async fn p16_the_rest_of_the_home_folder_is_hidden_from_tools_and_tests() {
    let user = User::new();
    let diary = user.write("diary", "canary").display().to_string();
    for mechanism in BOUND {
        for profile in [Profile::tool(), Profile::test()] {
            let output = user
                .run(
                    mechanism,
                    profile,
                    &format!("cat {diary} ~/diary; cp /etc/hostname ~/own && echo own home"),
                )
                .await;
            assert!(
                !said(&output).contains("canary") && said(&output).contains("own home"),
                "{}",
                said(&output)
            );
        }
        assert_eq!(
            said(
                &user
                    .run(mechanism, Profile::agent(), &format!("cat {diary}"))
                    .await
            ),
            "canary"
        );
    }
    assert!(!user.home().join("own").exists());
}

#[tokio::test]
async fn p16_what_is_obeyed_later_cannot_be_written_whether_it_exists_or_not() {
    let user = User::new();
    user.write("repository/.git/config", "[core]\n");
    user.write("repository/.git/hooks/pre-commit", "kept");
    user.write("repository/.vscode/settings.json", "kept");
    for profile in profiles() {
        let script = "
            for file in .git/config .git/hooks/pre-commit .git/hooks/new .vscode/settings.json .vscode/tasks.json \
                .bashrc .envrc .mcp.json .claude/settings.json .codex/config.toml .cursor/mcp.json .gemini/settings.json; do
                { mkdir -p $(dirname $file); echo evil > $file; } 2>/dev/null && echo wrote $file
            done
            mv .git/hooks aside; mv .vscode aside; rm -rf .git/hooks .vscode; rmdir .claude
            echo evil > .git/commondir
            echo objects can be written > .git/ok";
        let output = user.run(Mechanism::Bubblewrap, profile, script).await;
        assert_eq!(output.stdout.text(), "");
        assert_eq!(
            std::fs::read_to_string(user.repository().join(".git/hooks/pre-commit")).unwrap(),
            "kept"
        );
        assert_eq!(
            std::fs::read_to_string(user.repository().join(".vscode/settings.json")).unwrap(),
            "kept"
        );
        assert_eq!(
            names(&user, ""),
            [".git", ".vscode"],
            "something was left behind"
        );
        assert_eq!(names(&user, ".git"), ["config", "hooks", "ok"]);
    }
}

fn names(user: &User, folder: &str) -> Vec<String> {
    let entries = user.repository().join(folder).read_dir().unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn p16_the_home_folder_itself_is_no_workplace() {
    let user = User::new();
    for mechanism in BOUND {
        let spec = Spec::new("touch", user.home(), Profile::agent()).arg("new");
        assert!(
            !user
                .sandbox(mechanism)
                .await
                .run(spec)
                .await
                .unwrap()
                .exit
                .success()
        );
        assert!(!user.home().join("new").exists());
    }
}

#[tokio::test]
async fn p16_the_network_is_for_agents_only() {
    let user = User::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{} && echo connected",
        server.local_addr().unwrap().port()
    );
    for mechanism in BOUND {
        for (profile, reached) in [
            (Profile::agent(), true),
            (Profile::agent().network(false), false),
            (Profile::tool(), false),
            (Profile::test(), false),
            (Profile::test().network(true), true),
        ] {
            let output = user.run(mechanism, profile.clone(), &script).await;
            assert_eq!(
                said(&output).contains("connected"),
                reached,
                "{mechanism} {profile:?}: {}",
                said(&output)
            );
        }
    }
}

/// Such as the Docker daemon's, which is as good as root.
#[tokio::test]
async fn p16_sockets_of_other_programs_are_out_of_reach_for_tools_and_tests() {
    let user = User::new();
    let path = user.home().join("daemon.sock");
    let _daemon = UnixListener::bind(&path).unwrap();
    let script = format!(
        "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{}\"); print(\"connected\")'",
        path.display()
    );
    for mechanism in BOUND {
        for profile in [Profile::tool(), Profile::test()] {
            let output = user.run(mechanism, profile, &script).await;
            assert!(!said(&output).contains("connected"), "{mechanism}");
        }
    }
    assert!(said(&user.run(Mechanism::None, Profile::tool(), &script).await).contains("connected"));
}

#[tokio::test]
async fn p16_no_process_outside_can_be_signalled_or_read() {
    let user = User::new();
    let own = std::process::id();
    for mechanism in BOUND {
        for profile in profiles() {
            let script = format!(
                "kill -0 {own} && echo reached; tr '\\0' '\\n' < /proc/{own}/environ; kill -9 1"
            );
            let output = user.run(mechanism, profile, &script).await;
            assert_eq!(output.stdout.text(), "", "{mechanism}");
        }
    }
}

#[tokio::test]
async fn p16_no_privileges_are_left() {
    let user = User::new();
    let script = "grep -E '^(CapEff|NoNewPrivs)' /proc/self/status | tr -d '\\t'
        (echo core >> /proc/sys/kernel/core_pattern) 2>/dev/null && echo changed the kernel";
    for mechanism in BOUND {
        for profile in profiles() {
            let output = user.run(mechanism, profile, script).await;
            assert_eq!(
                said(&output),
                "CapEff:0000000000000000\nNoNewPrivs:1",
                "{mechanism}"
            );
        }
    }
}

/// Landlock cannot take away inside what it has given, so it must refuse and not look away.
#[tokio::test]
async fn p16_landlock_refuses_what_it_cannot_keep() {
    let user = User::new();
    let secret = user.write("repository/.env", "canary");
    let profile = Profile::tool().hide(&secret);
    let error = user
        .sandbox(Mechanism::Landlock)
        .await
        .spawn(user.script(profile.clone(), "cat .env"))
        .unwrap_err();
    assert!(
        error.to_string().contains("landlock has no such rule"),
        "{error}"
    );
    let output = user.run(Mechanism::Bubblewrap, profile, "cat .env").await;
    assert!(!said(&output).contains("canary"));
}

#[tokio::test]
async fn p16_the_strongest_mechanism_is_found() {
    let found = Sandbox::detect(User::new().host()).await.unwrap();
    assert_eq!(
        found.mechanism(),
        Mechanism::Bubblewrap,
        "install the package bubblewrap: {:?}",
        found.passed_over()
    );
}

#[tokio::test]
async fn p16_without_bubblewrap_landlock_is_in_force_and_the_reason_is_known() {
    let found = Sandbox::detect(without_bubblewrap()).await.unwrap();
    assert_eq!(found.mechanism(), Mechanism::Landlock);
    let reason = "bwrap is not installed: install the package bubblewrap".to_owned();
    assert_eq!(found.passed_over(), [(Mechanism::Bubblewrap, reason)]);
}

/// On a thread of its own, as what it gives up it cannot get back.
#[test]
fn p16_without_any_mechanism_nothing_is_run() {
    let detected = std::thread::spawn(|| {
        forbid_landlock();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(Sandbox::detect(without_bubblewrap()))
    });
    let error = detected.join().unwrap().unwrap_err();
    assert_eq!(error.code(), ErrorCode::PermissionDenied);
    let sentence = error.to_string();
    assert!(
        sentence.starts_with(
            "no isolation: bwrap is not installed: install the package bubblewrap; landlock: "
        ),
        "{sentence}"
    );
}

fn without_bubblewrap() -> Host {
    Host::new([("HOME", "/nonexistent"), ("PATH", "/nonexistent")])
}

/// As on a kernel that was built without it.
fn forbid_landlock() {
    const LANDLOCK_CREATE_RULESET: i64 = 444;
    const ENOSYS: u32 = 38;
    let filter = seccompiler::SeccompFilter::new(
        [(LANDLOCK_CREATE_RULESET, Vec::new())].into(),
        seccompiler::SeccompAction::Allow,
        seccompiler::SeccompAction::Errno(ENOSYS),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let program: seccompiler::BpfProgram = filter.unwrap().try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}
