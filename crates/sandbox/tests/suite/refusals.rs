//! A command that cannot run is rejected with one clear sentence, and leaves no files.

use windlass_core::ErrorCode;
use windlass_sandbox::{CommandSpec, Error, Mechanism, Profile};

use super::support::{ALL, User};

async fn spawn_error(user: &User, spec: CommandSpec) -> Error {
    user.sandbox(Mechanism::Bubblewrap)
        .await
        .spawn(spec)
        .map(|_| ())
        .unwrap_err()
}

#[tokio::test]
async fn working_dir_must_be_an_existing_directory() {
    let user = User::new();
    let file = user.write("file", "");
    let missing = user.home().join("missing");
    for (cwd, message) in [
        (&missing, "does not exist: create it first, or give another"),
        (&file, "is a file: give the directory it is in"),
    ] {
        let error = spawn_error(&user, CommandSpec::new("true", cwd, Profile::tool())).await;
        assert_eq!(
            error.to_string(),
            format!("working directory {}: {message}", cwd.display())
        );
    }
}

#[tokio::test]
async fn missing_program_error_names_searched_path() {
    let user = User::new();
    let error = spawn_error(
        &user,
        CommandSpec::new("no-such-program", user.repository(), Profile::tool()),
    )
    .await;
    assert_eq!(
        error.to_string(),
        "no-such-program: not found in PATH (/usr/local/bin:/usr/bin:/bin): install it, or give its full path"
    );
    let script = user.write("repository/script", "#!/bin/sh\n");
    let error = spawn_error(
        &user,
        CommandSpec::new("./script", user.repository(), Profile::tool()),
    )
    .await;
    assert_eq!(
        error.to_string(),
        format!(
            "{}: is not executable: run `chmod +x` on it",
            script.display().to_string().replace("/script", "/./script")
        )
    );
}

#[tokio::test]
async fn hidden_program_is_rejected_before_start() {
    use std::os::unix::fs::PermissionsExt;
    let user = User::new();
    let program = user.write(".gnupg/program", "#!/bin/sh\necho ran\n");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = spawn_error(
        &user,
        CommandSpec::new(&program, user.repository(), Profile::tool()),
    )
    .await;
    assert!(error.to_string().contains("profile tool hides"), "{error}");
    assert_eq!(error.code(), ErrorCode::PermissionDenied);

    let readable = Profile::tool().read(program.parent().unwrap());
    let sandbox = user.sandbox(Mechanism::Bubblewrap).await;
    let output = sandbox
        .run(CommandSpec::new(&program, user.repository(), readable))
        .await
        .unwrap();
    assert_eq!(output.stdout.text(), "ran\n");
}

#[tokio::test]
async fn p21_arguments_never_become_flags_and_nul_is_rejected() {
    let user = User::new();
    for mechanism in ALL {
        let sandbox = user.sandbox(mechanism).await;
        let hostile = ["--bind", "/", "--", "--chdir", "$(id)", "a b", "", "\n"];
        let spec = CommandSpec::new("printf", user.repository(), Profile::tool())
            .arg("%s|")
            .args(hostile);
        let output = sandbox.run(spec).await.unwrap();
        assert_eq!(
            output.stdout.text(),
            hostile.map(|arg| format!("{arg}|")).concat()
        );
    }
    let error = spawn_error(
        &user,
        CommandSpec::new("true", user.repository(), Profile::tool()).arg("a\0b"),
    )
    .await;
    assert_eq!(
        error.to_string(),
        "argument 1 contains a NUL byte: remove it"
    );
}

#[tokio::test]
async fn non_executable_content_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let user = User::new();
    let program = user.write("repository/nothing", "\u{1}\u{2}");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    for mechanism in [Mechanism::Landlock, Mechanism::None] {
        let spec = CommandSpec::new(&program, user.repository(), Profile::tool());
        let error = user.sandbox(mechanism).await.run(spec).await.unwrap_err();
        assert!(error.to_string().contains("Exec format error"), "{error}");
    }
}
