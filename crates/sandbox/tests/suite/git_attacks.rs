//! P16, P20: what an agent does in a user's checkout does not make the user's next git command run
//! its code. Each attack is shown to succeed without a sandbox.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use windlass_core::DirAccess;
use windlass_sandbox::{CommandSpec, Mechanism, Profile};

use super::support::{User, output_text, profiles};

/// Creates a repository with a submodule, a linked worktree, and settings that name files of the
/// work tree.
const SET_UP: &str = r#"
export GIT_AUTHOR_NAME=u GIT_AUTHOR_EMAIL=u@e GIT_COMMITTER_NAME=u GIT_COMMITTER_EMAIL=u@e
git init -q ~/library && cd ~/library && git commit -q --allow-empty -m one
cd ~/repository && git init -q -b main
git -c protocol.file.allow=always submodule --quiet add ~/library libs/sub
git -c protocol.file.allow=always submodule --quiet add ~/library gone
mkdir -p tools/hooks && printf '#!/bin/sh\n' | tee tools/filter tools/hooks/pre-commit > /dev/null
chmod +x tools/filter tools/hooks/pre-commit && echo text > file && echo '[x]' > shared.gitconfig
git add -A && git commit -q -m one
rm -rf gone
git worktree add -q ~/worktree
git config core.hooksPath tools/hooks
git config include.path ../shared.gitconfig
git config --add include.path ../local.gitconfig
git config alias.x '!tools/filter'
git config user.name u && git config user.email u@e
cp ~/evil . && cp ~/evil ~/worktree
mkdir ~/backup && cp -a ~/repository ~/worktree ~/backup
"#;

/// What the user does next, outside the sandbox.
const USE: &str = r#"
git status; git diff; echo more >> file; git add -A; git commit -m two; git status; git x
"#;

/// An attack, as a script that runs in the sandbox. `$EVIL` is a program of the attacker.
struct Attack {
    name: &'static str,
    script: &'static str,
}

const ATTACKS: &[Attack] = &[
    Attack {
        name: "fsmonitor in config",
        script: "git config core.fsmonitor \"'$EVIL'\"",
    },
    Attack {
        name: "fsmonitor in config.worktree",
        script: "git config extensions.worktreeConfig true; printf '[core]\\nfsmonitor=%s\\n' \"'$EVIL'\" > \"$(git rev-parse --git-dir)/config.worktree\"",
    },
    Attack {
        name: "settings of a submodule",
        script: "git -C libs/sub config core.fsmonitor \"'$EVIL'\"",
    },
    Attack {
        name: "another git directory for a submodule",
        script: "rm -rf libs/sub/.git; git init -q libs/sub; git -C libs/sub config core.fsmonitor \"'$EVIL'\"",
    },
    Attack {
        name: "a submodule that was moved away",
        script: "mv libs old; mkdir -p libs/sub; git init -q libs/sub; git -C libs/sub config core.fsmonitor \"'$EVIL'\"",
    },
    Attack {
        name: "a git directory for a removed submodule",
        script: "mkdir gone; git init -q gone; git -C gone commit -q --allow-empty -m x; git -C gone config core.fsmonitor \"'$EVIL'\"",
    },
    Attack {
        name: "commondir",
        script: "cp -r .git .evil; git --git-dir=.evil config core.fsmonitor \"'$EVIL'\"; echo \"$PWD/.evil\" > .git/commondir",
    },
    Attack {
        name: "another .git",
        script: "cp -r .git .evil; git --git-dir=.evil config core.fsmonitor \"'$EVIL'\"; mv .git old; mv .evil .git",
    },
    Attack {
        name: "hook",
        script: "git config --unset core.hooksPath; cp \"$EVIL\" .git/hooks/pre-commit",
    },
    Attack {
        name: "hook in the work tree",
        script: "cp \"$EVIL\" tools/hooks/pre-commit",
    },
    Attack {
        name: "new hook in the work tree",
        script: "cp \"$EVIL\" tools/hooks/post-commit",
    },
    Attack {
        name: "directory of hooks moved away",
        script: "mv tools old; mkdir -p tools/hooks; cp \"$EVIL\" tools/hooks/pre-commit",
    },
    Attack {
        name: "included settings",
        script: "printf '[core]\\nfsmonitor=%s\\n' \"'$EVIL'\" > shared.gitconfig",
    },
    Attack {
        name: "missing included settings",
        script: "printf '[core]\\nfsmonitor=%s\\n' \"'$EVIL'\" > local.gitconfig",
    },
    Attack {
        name: "program of an alias",
        script: "cp \"$EVIL\" tools/filter",
    },
];

struct Victim {
    user: User,
}

impl Victim {
    async fn new() -> Self {
        let victim = Self { user: User::new() };
        let home = victim.user.home();
        let evil = format!("#!/bin/sh\ntouch '{}/pwned'\n", home.display());
        let evil = victim.user.write("evil", &evil);
        std::fs::set_permissions(evil, PermissionsExt::from_mode(0o755)).unwrap();
        victim.run_as_user(SET_UP, &victim.user.repository()).await;
        victim
    }

    /// Undoes the last attack.
    async fn reset(&self) {
        let script = "rm -rf pwned repository worktree && cp -a backup/* .";
        self.run_as_user(script, &self.user.home()).await;
    }

    /// Runs a script as the user does, without a sandbox.
    async fn run_as_user(&self, script: &str, cwd: &Path) -> String {
        let spec = CommandSpec::new("bash", cwd, Profile::agent())
            .args(["-c", script])
            .env("HOME", self.user.home());
        let sandbox = self.user.sandbox(Mechanism::None).await;
        output_text(&sandbox.run(spec).await.unwrap())
    }

    /// Runs an attack in a directory, then git as the user. Returns `true` if the user's git ran the
    /// attacker's program.
    async fn is_hit(
        &self,
        mechanism: Mechanism,
        profile: Profile,
        attack: &Attack,
        dir: &str,
    ) -> bool {
        self.reset().await;
        let cwd = self.user.home().join(dir);
        let spec = CommandSpec::new("bash", &cwd, profile)
            .args(["-c", attack.script])
            .env("EVIL", cwd.join("evil"));
        self.user.sandbox(mechanism).await.run(spec).await.unwrap();
        self.run_as_user(USE, &cwd).await;
        self.pwned().exists()
    }

    fn pwned(&self) -> PathBuf {
        self.user.home().join("pwned")
    }
}

async fn check(attacks: &[Attack], dir: &str) {
    let victim = Victim::new().await;
    for attack in attacks {
        for (mechanism, expected) in [(Mechanism::None, true), (Mechanism::Bubblewrap, false)] {
            let hit = victim
                .is_hit(mechanism, Profile::agent(), attack, dir)
                .await;
            assert_eq!(hit, expected, "{mechanism}: {}", attack.name);
        }
    }
}

#[tokio::test]
async fn p20_attacks_on_git_in_a_checkout_fail() {
    check(ATTACKS, "repository").await;
}

#[tokio::test]
async fn p20_attacks_on_git_in_a_worktree_fail() {
    check(&ATTACKS[..2], "worktree").await;
}

/// A repository that an agent creates is data to git commands of the repository around it.
#[tokio::test]
async fn p20_nested_repository_is_not_used_by_git_around_it() {
    let nested = Attack {
        name: "nested repository",
        script: "git init -q sub/nested; git -C sub/nested config core.fsmonitor \"'$EVIL'\"; cp \"$EVIL\" sub/nested/.git/hooks/pre-commit
            mkdir bare && cd bare && git init -q --bare . && git config core.fsmonitor \"'$EVIL'\"",
    };
    let victim = Victim::new().await;
    assert!(
        !victim
            .is_hit(
                Mechanism::Bubblewrap,
                Profile::agent(),
                &nested,
                "repository"
            )
            .await
    );
    assert!(
        victim
            .user
            .repository()
            .join("sub/nested/.git/config")
            .exists()
    );
}

#[tokio::test]
async fn git_can_be_read_in_every_kind_of_checkout() {
    let victim = Victim::new().await;
    let script = "git status --short --ignore-submodules | grep -v evil; git log --format=%s -1; git diff --stat HEAD | tail -1";
    for profile in profiles() {
        for access in [DirAccess::Files, DirAccess::ReadOnly] {
            for dir in [
                "repository",
                "worktree",
                "repository/tools",
                "repository/libs/sub",
            ] {
                let cwd = victim.user.home().join(dir);
                let profile = profile.clone().access(access);
                let spec = CommandSpec::new("bash", cwd, profile).args(["-c", script]);
                for mechanism in [Mechanism::Bubblewrap, Mechanism::Landlock] {
                    let output = victim
                        .user
                        .sandbox(mechanism)
                        .await
                        .run(spec.clone())
                        .await
                        .unwrap();
                    let text = output_text(&output);
                    assert!(text.contains("one"), "{mechanism} {dir}: {text}");
                    assert!(!text.contains("fatal"), "{mechanism} {dir}: {text}");
                }
            }
        }
    }
}

/// A file `.git` that names another project does not make it readable.
#[tokio::test]
async fn p16_git_file_does_not_expose_another_directory() {
    let user = User::new();
    let secret = user.write("other/.git/HEAD", "canary");
    user.write("other/.git/config", "[core]\n\tbare = false\n");
    let dir = secret.parent().unwrap().display().to_string();
    let script = format!("cat '{}' 2>/dev/null; echo looked", secret.display());
    for mechanism in super::support::ISOLATING {
        for (name, content) in [
            (".git", format!("gitdir: {dir}\n")),
            ("commondir", String::new()),
        ] {
            user.write(&format!("repository/{name}"), &content);
            let output = user.run(mechanism, Profile::agent(), &script).await;
            assert_eq!(output_text(&output), "looked", "{mechanism} {name}");
        }
    }
}

/// An attempt's clone belongs to the agent.
#[tokio::test]
async fn private_clone_accepts_commits() {
    let victim = Victim::new().await;
    let script = "git add evil && git -c user.name=u -c user.email=u@e -c core.hooksPath=/dev/null commit -qm two && git log --format=%s -1";
    for profile in profiles() {
        let in_checkout = victim
            .user
            .run(Mechanism::Bubblewrap, profile.clone(), script)
            .await;
        assert!(
            output_text(&in_checkout).contains("Read-only file system"),
            "{}",
            output_text(&in_checkout)
        );
    }
    let profile = Profile::agent().access(DirAccess::Repository);
    let in_clone = victim
        .user
        .run(Mechanism::Bubblewrap, profile, script)
        .await;
    assert_eq!(output_text(&in_clone), "two");
}
