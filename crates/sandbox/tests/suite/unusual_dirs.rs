//! Programs, toolchains, projects and home directories in unusual directories work, and nothing
//! else becomes readable for it.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use windlass_sandbox::{CommandSpec, Error, Host, Mechanism, Output, Profile, Sandbox};

use super::support::{ISOLATING, User, output_text, profiles};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Creates a directory under `/tmp`, which is private in every sandbox.
fn temp_dir() -> TempDir {
    TempDir::with_prefix_in("windlass-test-", "/tmp").unwrap()
}

/// Creates an installation as package managers do: `bin/greet` needs `lib/greeting`.
fn install(prefix: &Path) -> PathBuf {
    std::fs::create_dir_all(prefix.join("lib")).unwrap();
    std::fs::write(prefix.join("lib/greeting"), "hello\n").unwrap();
    script(
        &prefix.join("bin/greet"),
        "#!/bin/sh\ncat \"$(dirname \"$0\")/../lib/greeting\"\n",
    )
}

fn script(path: &Path, text: &str) -> PathBuf {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    path.to_owned()
}

async fn run(host: Host, mechanism: Mechanism, spec: CommandSpec) -> Result<Output, Error> {
    Sandbox::with_mechanism(host, mechanism)
        .await
        .unwrap()
        .run(spec)
        .await
}

/// Runs a program in every profile with every isolating mechanism, and checks its output.
#[track_caller]
fn check_everywhere(host: &Host, cwd: &Path, program: &Path, args: &[&str], expected: &str) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for mechanism in ISOLATING {
        for profile in profiles() {
            let kind = profile.kind();
            let spec = CommandSpec::new(program, cwd, profile).args(args.iter().copied());
            let output = runtime
                .block_on(run(host.clone(), mechanism, spec))
                .unwrap();
            assert_eq!(output_text(&output), expected, "{mechanism} {kind:?}");
        }
    }
}

#[test]
fn program_under_temp_dir_runs_with_its_installation() {
    let user = User::new();
    let temp = temp_dir();
    let program = install(&temp.path().join("tool"));
    check_everywhere(&user.host(), &user.repository(), &program, &[], "hello");

    let link = temp.path().join("links/bin/greet");
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(&program, &link).unwrap();
    let print = script(&temp.path().join("real/bin/print"), "#!/bin/sh\necho $1\n");
    symlink(temp.path().join("real"), temp.path().join("linked")).unwrap();
    let through_link = temp.path().join("linked/bin/print");
    for program in [print, through_link] {
        check_everywhere(
            &user.host(),
            &user.repository(),
            &program,
            &["hello"],
            "hello",
        );
    }
}

#[test]
fn program_directly_in_temp_dir_exposes_only_itself() {
    let user = User::new();
    let file = tempfile::Builder::new()
        .prefix("windlass-test-")
        .tempfile_in("/tmp")
        .unwrap();
    let program = file.into_temp_path();
    let secret = temp_dir();
    std::fs::write(secret.path().join("secret"), "canary").unwrap();
    script(
        &program,
        &format!(
            "#!/bin/sh\ncat '{}/secret' 2>&1 | grep -c canary\n",
            secret.path().display()
        ),
    );
    check_everywhere(&user.host(), &user.repository(), &program, &[], "0");
}

#[test]
fn toolchain_on_path_under_temp_dir_is_readable() {
    let user = User::new();
    let temp = temp_dir();
    install(temp.path());
    std::fs::write(user.home().join("unrelated"), "").unwrap();
    let path = format!("/tmp:{}/bin:{PATH}", temp.path().display());
    let host = Host::new([("HOME", user.home().to_str().unwrap()), ("PATH", &path)]);
    let sh = Path::new("/bin/sh");
    check_everywhere(&host, &user.repository(), sh, &["-c", "greet"], "hello");
    // `/tmp` on the PATH does not make `/tmp` readable.
    let secret = temp_dir();
    std::fs::write(secret.path().join("secret"), "canary").unwrap();
    let command = format!(
        "cat '{}/secret' 2>/dev/null; echo looked",
        secret.path().display()
    );
    check_everywhere(&host, &user.repository(), sh, &["-c", &command], "looked");
}

#[test]
fn readable_setting_applies_to_every_profile() {
    let user = User::new();
    let temp = temp_dir();
    std::fs::write(temp.path().join("data"), "hello").unwrap();
    user.write("sdk/data", "hello");
    let sh = Path::new("/bin/sh");
    for (path, data) in [
        (temp.path().to_str().unwrap(), temp.path().join("data")),
        ("~/sdk", user.home().join("sdk/data")),
    ] {
        let host = user.host().with_readable([path, "/no/such/path"]);
        let command = format!(
            "cat '{data}'; echo evil > '{data}' || true",
            data = data.display()
        );
        let args = ["-c", &format!("{{ {command}; }} 2>/dev/null")];
        check_everywhere(&host, &user.repository(), sh, &args, "hello");
    }
}

#[test]
fn project_and_home_under_temp_dir_work() {
    let temp = temp_dir();
    let home = temp.path().join("home of Zoë");
    let project = home.join("a project");
    std::fs::create_dir_all(&project).unwrap();
    let host = Host::new([("HOME", home.to_str().unwrap()), ("PATH", PATH)]);
    let write = "echo hello > file && cat file && rm file";
    check_everywhere(
        &host,
        &project,
        Path::new("/bin/sh"),
        &["-c", write],
        "hello",
    );
    assert_eq!(project.read_dir().unwrap().count(), 0);
}

#[tokio::test]
async fn p16_program_location_does_not_expose_home_or_secrets() {
    let user = User::new();
    user.write("notes", "canary");
    user.write("other/notes", "canary");
    user.write(".ssh/id", "canary");
    let text = "#!/bin/sh\ncat \"$HOME\"/notes \"$HOME\"/other/notes \"$HOME\"/.ssh/id 2>/dev/null; echo ran\n";
    for mechanism in ISOLATING {
        for name in ["bin/program", "program"] {
            let program = script(&user.home().join(name), text);
            let home = user.home().display().to_string();
            for profile in [Profile::tool(), Profile::test()] {
                let spec =
                    CommandSpec::new(&program, user.repository(), profile).env("HOME", &home);
                let output = run(user.host(), mechanism, spec).await.unwrap();
                assert_eq!(output.stdout.text(), "ran\n", "{mechanism} {name}");
            }
        }
        let program = script(&user.home().join(".ssh/program"), text);
        let link = user.home().join("bin/link");
        let _ = std::fs::remove_file(&link);
        symlink(&program, &link).unwrap();
        for program in [&program, &link] {
            for profile in profiles() {
                let kind = profile.kind().as_str();
                let spec = CommandSpec::new(program, user.repository(), profile);
                let error = run(user.host(), mechanism, spec).await.unwrap_err();
                let expected = format!(
                    "{}: profile {kind} hides {}/.ssh: add the program's directory to `sandbox.readable`, or install the program elsewhere",
                    program.display(),
                    user.home().display()
                );
                assert_eq!(error.to_string(), expected);
            }
        }
    }
}
