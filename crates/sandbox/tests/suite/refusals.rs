//! What cannot be run is refused in one clear sentence, and nothing is left behind.

use windlass_core::ErrorCode;
use windlass_sandbox::{CommandSpec, Error, Mechanism, Profile};

use super::support::{ALL, User};

async fn refusal(user: &User, spec: CommandSpec) -> Error {
    user.sandbox(Mechanism::Bubblewrap)
        .await
        .spawn(spec)
        .map(|_| ())
        .unwrap_err()
}

#[tokio::test]
async fn a_working_directory_must_be_a_folder_that_exists() {
    let user = User::new();
    let file = user.write("file", "");
    let missing = user.home().join("missing");
    for (cwd, sentence) in [
        (&missing, "does not exist: make it first, or name another"),
        (&file, "is a file: name the folder it is in"),
    ] {
        let error = refusal(&user, CommandSpec::new("true", cwd, Profile::tool())).await;
        assert_eq!(
            error.to_string(),
            format!("working directory {}: {sentence}", cwd.display())
        );
    }
}

#[tokio::test]
async fn a_missing_program_is_named_with_where_it_was_looked_for() {
    let user = User::new();
    let error = refusal(
        &user,
        CommandSpec::new("no-such-program", user.repository(), Profile::tool()),
    )
    .await;
    assert_eq!(
        error.to_string(),
        "no-such-program: not found in PATH (/usr/local/bin:/usr/bin:/bin): install it, or give its full path"
    );
    let script = user.write("repository/script", "#!/bin/sh\n");
    let error = refusal(
        &user,
        CommandSpec::new("./script", user.repository(), Profile::tool()),
    )
    .await;
    assert_eq!(
        error.to_string(),
        format!(
            "{}: is not executable: try `chmod +x`",
            script.display().to_string().replace("/script", "/./script")
        )
    );
}

#[tokio::test]
async fn a_program_the_profile_hides_is_refused_before_it_is_started() {
    use std::os::unix::fs::PermissionsExt;
    let user = User::new();
    let program = user.write(".gnupg/program", "#!/bin/sh\necho ran\n");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = refusal(
        &user,
        CommandSpec::new(&program, user.repository(), Profile::tool()),
    )
    .await;
    assert!(error.to_string().contains("profile tool hides"), "{error}");
    assert_eq!(error.code(), ErrorCode::PermissionDenied);

    let shown = Profile::tool().read(program.parent().unwrap());
    let sandbox = user.sandbox(Mechanism::Bubblewrap).await;
    let output = sandbox
        .run(CommandSpec::new(&program, user.repository(), shown))
        .await
        .unwrap();
    assert_eq!(output.stdout.text(), "ran\n");
}

#[tokio::test]
async fn p21_no_argument_becomes_a_flag_and_nul_is_refused() {
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
    let error = refusal(
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
async fn a_program_that_is_no_program_says_so() {
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
