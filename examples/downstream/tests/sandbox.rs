//! A test runs a process in the sandbox, with the program of its own crate as the init program.

use windlass_sandbox::{CommandSpec, Host, Profile, Sandbox, init};

#[tokio::test]
async fn test_runs_a_sandboxed_process() {
    init::set_program(env!("CARGO_BIN_EXE_downstream"));
    let dir = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::detect(Host::current()).await.unwrap();
    let command = CommandSpec::new("sh", dir.path(), Profile::tool()).args(["-c", "echo inside"]);
    let output = sandbox.run(command).await.unwrap();
    assert_eq!(output.stdout.text(), "inside\n", "{output:?}");
}
