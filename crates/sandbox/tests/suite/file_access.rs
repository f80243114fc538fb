//! P16: which files a process may read and write.

use windlass_sandbox::{CommandSpec, Mechanism, Profile};

use super::support::{ISOLATING, User, output_text, profiles};

#[tokio::test]
async fn p16_only_working_dir_and_private_tmp_are_writable() {
    let user = User::new();
    let home = user.home();
    let outside = [
        home.join("new"),
        home.join(".bashrc"),
        "/etc/new".into(),
        "/usr/bin/new".into(),
        "/new".into(),
    ];
    for mechanism in ISOLATING {
        for profile in profiles() {
            let kind = profile.kind().as_str();
            let output = user
                .run(
                    mechanism,
                    profile.clone(),
                    "touch here $TMPDIR/there && echo both",
                )
                .await;
            assert_eq!(output_text(&output), "both", "{mechanism} {kind}");
            for path in &outside {
                user.run(
                    mechanism,
                    profile.clone(),
                    &format!("echo evil >> '{}'", path.display()),
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
async fn p16_agent_can_write_only_its_own_state() {
    let user = User::new();
    let (own, other) = (
        user.home().join(".own"),
        user.write(".other/settings", "original"),
    );
    for mechanism in ISOLATING {
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
            "original",
            "{mechanism}"
        );
        std::fs::remove_file(own.join("session")).unwrap();
    }
}

#[tokio::test]
async fn p16_user_secrets_are_hidden_in_every_profile() {
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
    for mechanism in ISOLATING {
        for profile in profiles() {
            let kind = profile.kind().as_str();
            for secret in &secrets {
                let output = user
                    .run(
                        mechanism,
                        profile.clone(),
                        &format!("cat '{}'", secret.display()),
                    )
                    .await;
                assert!(
                    !output_text(&output).contains("canary"),
                    "{mechanism} {kind} read {}",
                    secret.display()
                );
            }
            let script = format!("cat '{}/.cargo/config.toml'", user.home().display());
            assert_eq!(
                output_text(&user.run(mechanism, profile, &script).await),
                "readable",
                "{mechanism} {kind}"
            );
        }
    }
}

/// The home directory is an empty private one; under Landlock, tools and tests get another.
#[tokio::test]
async fn p16_home_dir_is_private() {
    let user = User::new();
    for mechanism in ISOLATING {
        for profile in profiles() {
            let kind = profile.kind().as_str();
            if mechanism == Mechanism::Landlock && kind == "agent" {
                continue;
            }
            let script = "cp /etc/hostname ~/own && echo own home";
            let output = user.run(mechanism, profile, script).await;
            assert_eq!(output_text(&output), "own home", "{mechanism} {kind}");
        }
    }
    assert!(!user.home().join("own").exists());
}

/// In another user's directory nothing can be protected, and nothing needs to be.
#[tokio::test]
async fn read_only_working_dir_is_accepted() {
    let user = User::new();
    for mechanism in ISOLATING {
        for profile in profiles() {
            let spec = CommandSpec::new("ls", "/usr/lib", profile);
            let output = user.sandbox(mechanism).await.run(spec).await.unwrap();
            assert!(
                output.exit.success(),
                "{mechanism}: {}",
                output_text(&output)
            );
        }
        let dir = user.home().join("of-another-user");
        std::fs::create_dir_all(&dir).unwrap();
        // Only root can change the owner of a directory; for other users, `/usr/lib` above is such
        // a directory.
        let _ = std::os::unix::fs::chown(&dir, Some(65534), Some(65534));
        let spec = CommandSpec::new("ls", dir, Profile::tool());
        let output = user.sandbox(mechanism).await.run(spec).await.unwrap();
        assert!(
            output.exit.success(),
            "{mechanism}: {}",
            output_text(&output)
        );
    }
}

#[tokio::test]
async fn p16_home_dir_as_working_dir_is_read_only() {
    let user = User::new();
    for mechanism in ISOLATING {
        let spec = CommandSpec::new("touch", user.home(), Profile::agent()).arg("new");
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

/// Landlock cannot restrict a path inside a writable directory, so it must refuse instead of
/// ignoring the rule.
#[tokio::test]
async fn p16_landlock_rejects_unenforceable_rules() {
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
    assert!(!output_text(&output).contains("canary"));
}
