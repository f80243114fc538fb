//! P16: which files a process may see and change.

use windlass_sandbox::{CommandSpec, Mechanism, Profile};

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
                        &format!("cat '{}'", secret.display()),
                    )
                    .await;
                assert!(
                    !said(&output).contains("canary"),
                    "{mechanism} {kind} read {}",
                    secret.display()
                );
            }
            let script = format!("cat '{}/.cargo/config.toml'", user.home().display());
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
                    &format!("cat '{diary}' ~/diary; cp /etc/hostname ~/own && echo own home"),
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
                    .run(mechanism, Profile::agent(), &format!("cat '{diary}'"))
                    .await
            ),
            "canary"
        );
    }
    assert!(!user.home().join("own").exists());
}

/// Nothing can be covered in a folder of somebody else, and nothing needs to be.
#[tokio::test]
async fn a_working_directory_that_cannot_be_written_is_still_one() {
    let user = User::new();
    for mechanism in BOUND {
        for profile in profiles() {
            let spec = CommandSpec::new("ls", "/usr/lib", profile);
            let output = user.sandbox(mechanism).await.run(spec).await.unwrap();
            assert!(output.exit.success(), "{mechanism}: {}", said(&output));
        }
        let folder = user.home().join("of-somebody-else");
        std::fs::create_dir_all(&folder).unwrap();
        // Only root can give a folder away; for others the one above is somebody else's already.
        let _ = std::os::unix::fs::chown(&folder, Some(65534), Some(65534));
        let spec = CommandSpec::new("ls", folder, Profile::tool());
        let output = user.sandbox(mechanism).await.run(spec).await.unwrap();
        assert!(output.exit.success(), "{mechanism}: {}", said(&output));
    }
}

#[tokio::test]
async fn p16_the_home_folder_itself_is_no_workplace() {
    let user = User::new();
    for mechanism in BOUND {
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
