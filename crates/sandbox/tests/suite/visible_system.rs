//! What a process sees of the system: an empty root into which only what it may see is mounted.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use windlass_sandbox::{CommandSpec, Mechanism, Profile};

use super::support::{ISOLATING, User, example, output_text, profiles};

#[tokio::test]
async fn root_has_its_directories_and_is_read_only() {
    let user = User::new();
    let names = Path::new("/").read_dir().unwrap().flatten();
    let names: Vec<String> = names
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    let list = format!(
        "for name in {}; do test -d /$name || echo $name; done",
        names.join(" ")
    );
    let write = "for dir in / /mnt /home /dev /etc /var /run; do touch $dir/new 2>/dev/null && echo wrote $dir; done";
    for profile in profiles() {
        for script in [&*list, write] {
            let output = user
                .run(
                    Mechanism::Bubblewrap,
                    profile.clone(),
                    &format!("{script}; true"),
                )
                .await;
            assert_eq!(output_text(&output), "", "{:?}", profile.kind());
        }
    }
}

/// Neither a working directory nor a setting that is the root shows what the system hides.
#[tokio::test]
async fn p16_root_as_directory_or_setting_shows_nothing_more() {
    let user = User::new();
    let secret = user.write("notes", "canary");
    for mechanism in ISOLATING {
        let host = user.host().with_readable(["/"]);
        let sandbox = windlass_sandbox::Sandbox::with_mechanism(host, mechanism)
            .await
            .unwrap();
        for profile in [Profile::tool(), Profile::tool().read("/").write("/")] {
            let script = format!(
                "cat '{}' 2>/dev/null; touch '{}' 2>/dev/null && echo wrote; ls /usr >/dev/null && echo ran",
                secret.display(),
                user.home().join("new").display()
            );
            let spec = CommandSpec::new("sh", "/", profile).args(["-c", &script]);
            let output = sandbox.run(spec).await.unwrap();
            // Under bubblewrap, the home directory is a private one.
            let expected = match mechanism {
                Mechanism::Bubblewrap => "wrote\nran",
                _ => "ran",
            };
            assert_eq!(output_text(&output), expected, "{mechanism}");
            assert!(!user.home().join("new").exists());
        }
    }
}

#[tokio::test]
async fn p16_programs_only_shows_programs_and_what_the_profile_names() {
    let user = User::new();
    user.write("notes", "canary");
    let shared = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(shared.path().join("file"), "hello").unwrap();
    let script = format!(
        "cat '{0}/file'; git --version >/dev/null && echo ' git'; \
         cat '{1}' /etc/passwd /proc/self/stat 2>/dev/null; ls /etc/ssl /var/lib 2>/dev/null; \
         echo new 2>/dev/null > '{0}/written' && echo wrote; true",
        shared.path().display(),
        user.home().join("notes").display(),
    );
    for mechanism in ISOLATING {
        let base = Profile::tool().programs_only().program("git");
        for (profile, expected) in [
            (base.clone().read(shared.path()), "hello git"),
            (base.write(shared.path()), "hello git\nwrote"),
        ] {
            let spec = CommandSpec::new("sh", "/", profile).args(["-c", &script]);
            let output = user.sandbox(mechanism).await.run(spec).await.unwrap();
            assert_eq!(output.stdout.text().trim(), expected, "{mechanism}");
        }
    }
}

/// Runs a shell script in a sandbox, on a machine that options of bubblewrap describe.
#[expect(
    clippy::disallowed_methods,
    reason = "the sandbox itself must run on another machine"
)]
fn run_on_machine(
    machine: &[String],
    home: &str,
    project: &str,
    sandbox: [&str; 2],
    script: &str,
) -> String {
    let output = Command::new("bwrap")
        .args(["--cap-add", "ALL"])
        .args(machine)
        .args(["--chdir", project, "--setenv", "HOME", home, "--"])
        .arg(example("run"))
        .args(sandbox)
        .args(["sh", "-c", script])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    format!("{}{errors}", String::from_utf8_lossy(&output.stdout))
}

/// An ordinary machine with systemd has this directory; a container mostly has not.
#[test]
fn sandbox_works_where_dev_has_message_queues() {
    let user = User::new();
    let machine = options(
        "--bind / / --dev /dev --unshare-ipc --mqueue /dev/mqueue",
        &[],
    );
    let script = "ls -d /dev/mqueue /dev/null 2>/dev/null; true";
    let project = user.repository().display().to_string();
    let home = user.home().display().to_string();
    for kind in ["agent", "tool", "test"] {
        let found = run_on_machine(&machine, &home, &project, ["bubblewrap", kind], script);
        assert_eq!(found, "/dev/null\nstarting under bubblewrap\n", "{kind}");
    }
}

/// Returns options of bubblewrap, with `{0}`, `{1}` and so on replaced by paths, which may contain spaces.
fn options(text: &str, paths: &[&Path]) -> Vec<String> {
    let fill = |option: &str| {
        let numbered = paths.iter().enumerate();
        numbered.fold(option.to_owned(), |option, (number, path)| {
            option.replace(&format!("{{{number}}}"), path.to_str().unwrap())
        })
    };
    text.split_whitespace().map(fill).collect()
}

/// Options of bubblewrap for a small machine with the home directory `/home/user`, on a disk at `/disk/home`. In
/// `more`, `{0}` is the directory of that disk.
fn small_machine(user: &User, etc: &Path, more: &str) -> Vec<String> {
    let program = example("run");
    let programs = program.ancestors().nth(2).unwrap();
    let text = format!(
        "--ro-bind /usr /usr --ro-bind {{1}} /etc --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
         --dev /dev --bind /proc /proc --bind {{0}} /disk/home --symlink disk/home /home {more} --ro-bind {{2}} {{2}}"
    );
    options(&text, &[&user.home(), etc, programs])
}

/// Runs a script in `/home/user/project` of a small machine.
fn run_on_small_machine(machine: &[String], sandbox: [&str; 2], script: &str) -> String {
    run_on_machine(machine, "/home/user", "/home/user/project", sandbox, script)
}

/// Home and temporary directories are often links, and a disk may be mounted anywhere.
#[test]
fn sandbox_works_where_the_root_has_links_and_other_disks() {
    let user = User::new();
    user.write("user/project/file", "hello\n");
    user.write("user/notes", "canary");
    let machine = small_machine(
        &user,
        Path::new("/etc"),
        "--dir /run/user/1000 --dir /private/tmp --symlink private/tmp /tmp --dir /mnt/c/Users --symlink nowhere /broken",
    );
    let script = "cat file; cat /home/user/notes /disk/home/user/notes 2>/dev/null; ls /mnt 2>/dev/null; \
                  echo new > /tmp/new && cat /private/tmp/new; cd /home/user && pwd -P";
    for kind in ["tool", "test"] {
        let run = |mechanism| run_on_small_machine(&machine, [mechanism, kind], script);
        assert_eq!(
            run("bubblewrap"),
            "hello\nnew\n/disk/home/user\nstarting under bubblewrap\n",
            "{kind}"
        );
        let found = run("landlock");
        assert!(found.starts_with("hello\n"), "{kind}: {found}");
        assert!(
            !found.contains("canary") && !found.contains("Users"),
            "{kind}: {found}"
        );
    }
}

/// A program is found under the name that the user knows, with links in the root, in the home directory and between them.
#[test]
fn programs_are_reachable_through_links_and_directly_in_the_root() {
    let user = User::new();
    user.write("user/project/file", "");
    for name in [
        "user/.local/share/uv/bin/one",
        "tools/bin/two",
        "tools/lib/data",
    ] {
        user.write(name, "#!/bin/sh\necho $0\n");
        make_executable(&user.home().join(name));
    }
    std::os::unix::fs::symlink("share/uv/bin", user.home().join("user/.local/bin")).unwrap();
    let more = "--symlink /disk/home/tools /sdk --dir /cargo --ro-bind /usr/bin/true /cargo/three \
                --dir /private/tmp --symlink private/tmp /tmp --dir /var --symlink ../tmp /var/tmp \
                --setenv PATH /home/user/.local/bin:/sdk/bin:/cargo:/usr/bin:/bin";
    let machine = small_machine(&user, Path::new("/etc"), more);
    let script = "one; two; three && echo three; cat /sdk/lib/data >/dev/null && echo data; mktemp >/dev/null && echo temporary";
    for kind in ["agent", "tool", "test"] {
        for mechanism in ["bubblewrap", "landlock"] {
            let found = run_on_small_machine(&machine, [mechanism, kind], script);
            let expected = format!(
                "/home/user/.local/bin/one\n/sdk/bin/two\nthree\ndata\ntemporary\nstarting under {mechanism}\n"
            );
            assert_eq!(found, expected, "{kind}");
        }
    }
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// Windlass's own settings may have the key of its server. A service with a socket would be a way to the network.
#[test]
fn p16_settings_of_windlass_and_sockets_of_services_are_hidden() {
    let user = User::new();
    user.write("user/project/file", "");
    user.write("etc/windlass/key.pem", "canary");
    user.write("etc/hostname", "machine\n");
    user.write("resolve/resolv.conf", "nameserver\n");
    user.write("nix/store/file", "store\n");
    user.write("nix/var/nix/daemon-socket/socket", "canary");
    user.write("resolve/io.systemd.Resolve", "canary");
    let home = user.home();
    let more = "--dir /tmp --ro-bind {0}/resolve /run/systemd/resolve --ro-bind {0}/nix /nix";
    let machine = small_machine(&user, &home.join("etc"), more);
    let script = "cat /etc/hostname /run/systemd/resolve/resolv.conf /nix/store/file; \
                  cat /etc/windlass/* /nix/var/nix/daemon-socket/* /run/systemd/resolve/io* 2>/dev/null; true";
    for kind in ["agent", "tool", "test"] {
        for mechanism in ["bubblewrap", "landlock"] {
            let found = run_on_small_machine(&machine, [mechanism, kind], script);
            let expected = format!("machine\nnameserver\nstore\nstarting under {mechanism}\n");
            assert_eq!(found, expected, "{kind}");
        }
    }
}

/// The user may work in the home directory itself, and Windlass's own git then, too.
#[tokio::test]
async fn p16_programs_only_in_the_home_directory_does_not_show_its_secrets() {
    let user = User::new();
    for name in [".ssh/id_ed25519", ".aws/credentials", ".bash_history"] {
        user.write(name, "canary");
    }
    user.write("notes", "hello");
    let script = "cat notes .ssh/* .aws/* .bash_history 2>/dev/null; true";
    for mechanism in ISOLATING {
        let profile = Profile::tool().programs_only();
        let spec = CommandSpec::new("sh", user.home(), profile).args(["-c", script]);
        let output = user.sandbox(mechanism).await.run(spec).await.unwrap();
        assert_eq!(output_text(&output), "hello", "{mechanism}");
    }
}
