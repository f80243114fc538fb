//! The documented names, types and messages.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};
use windlass_core::ToolKind::{self, Execute, Read, Write};
use windlass_core::{ErrorCode, Toolbox};
use windlass_sandbox::Mechanism;
use windlass_tools::{
    FSResult, LocalTools, PyRunResult, ShellResult, dispatch_tool, fs_list, fs_read, fs_write,
    python_run, shell_run, tool_schema,
};

use super::support::{User, text_of};

fn fs(ok: bool, detail: &str) -> FSResult {
    FSResult {
        ok,
        detail: detail.to_owned(),
    }
}

#[test]
fn file_tools_return_documented_results() {
    let user = User::new();
    let root = user.root();
    let wrote = fs_write(&root, "a/b/c.txt", "one\ntwo\n").unwrap();
    assert_eq!(wrote, fs(true, "wrote a/b/c.txt (2 lines, 8 bytes)"));
    assert_eq!(fs_read(&root, "a/b/c.txt").unwrap(), fs(true, "one\ntwo\n"));
    user.put("a/x", "");
    assert_eq!(fs_list(&root, "a").unwrap(), fs(true, "b/\nx"));
    assert_eq!(
        fs_read(&root, "none").unwrap(),
        fs(false, "read: not found: none")
    );
    assert_eq!(
        fs_list(&root, "none").unwrap(),
        fs(false, "list: not found: none")
    );
    assert_eq!(
        fs_read(&root, "a").unwrap(),
        fs(false, "read: a: is a directory, not a file")
    );
    user.put("binary", "");
    std::fs::write(user.project().join("binary"), [0xff, 0xfe]).unwrap();
    assert_eq!(
        fs_read(&root, "binary").unwrap(),
        fs(false, "read: not UTF-8 text: binary")
    );
    for error in [
        fs_read(&root, "../x").unwrap_err(),
        fs_write(&root, "/etc/x", "").unwrap_err(),
        fs_list(&root, "a/../../..").unwrap_err(),
    ] {
        assert_eq!(error.to_string(), "path escapes sandbox");
    }
}

/// Root has all permissions, so the test drops them first, on a separate thread.
#[test]
fn permission_denied_is_a_failed_result() {
    use std::os::unix::fs::PermissionsExt;
    let user = User::new();
    user.put("locked/file", "x");
    let locked = user.project().join("locked");
    for (path, mode) in [(user.home(), 0o755), (locked, 0o555)] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
    let root = user.root();
    let wrote = std::thread::spawn(move || {
        if rustix::process::getuid().is_root() {
            rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65534)).unwrap();
        }
        fs_write(&root, "locked/new", "x").unwrap()
    });
    let denied = fs(false, "write: permission denied: locked/new");
    assert_eq!(wrote.join().unwrap(), denied);
}

#[tokio::test]
async fn command_tools_return_documented_results() {
    let user = User::new();
    let (root, sandbox) = (user.root(), user.sandbox(Mechanism::Bubblewrap).await);
    let shell = |ok, stdout: &str, stderr: &str, code| ShellResult {
        ok,
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
        code,
    };
    for (cmd, expected) in [
        (
            "echo one | cat; echo two >&2",
            shell(true, "one\n", "two\n", 0),
        ),
        ("exit 3", shell(false, "", "", 3)),
        (
            "rm -rf build",
            shell(false, "", "blocked: rm -rf build", 126),
        ),
        (
            "ls; dd if=a of=b",
            shell(false, "", "blocked: dd if=a of=b", 126),
        ),
        ("format c:", shell(false, "", "blocked: format c:", 126)),
        (
            "cat ../../etc/passwd",
            shell(false, "", "blocked: cat ../../etc/passwd", 126),
        ),
        ("  ", shell(false, "", "the command is empty", 2)),
        (
            "echo \0",
            shell(false, "", "the command contains a NUL byte", 2),
        ),
    ] {
        assert_eq!(shell_run(&sandbox, &root, cmd).await, expected, "{cmd}");
    }
    let run = |ok, stdout: &str, stderr: &str, code| PyRunResult {
        ok,
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
        code,
    };
    let code = "import sys, helper\nprint(helper.one)\nsys.exit(4)";
    user.put("helper.py", "one = 1");
    for (mode, code, expected) in [
        ("snippet", Some(code), run(false, "1\n", "", 4)),
        (
            "snippet",
            Some("print(input() if 0 else __file__[-11:])"),
            run(true, "/snippet.py\n", "", 0),
        ),
        (
            "snippet",
            None,
            run(false, "", "snippet: code is required", 2),
        ),
        ("repl", None, run(false, "", "unknown mode: repl", 2)),
    ] {
        let code = code.map(str::to_owned);
        assert_eq!(
            python_run(&sandbox, &root, mode, code).await,
            expected,
            "{mode}"
        );
    }
    // Neither the snippet nor Python's cache files are left over.
    let names: Vec<_> = std::fs::read_dir(user.project())
        .unwrap()
        .flatten()
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

/// Uses the real pytest from the environment that `scripts/setup --only matrix` creates.
#[tokio::test]
async fn pytest_runs_as_a_module() {
    let user = User::new();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let programs = repository
        .join(".cache/matrix/own/python/.venv/bin")
        .canonicalize();
    let programs = programs.expect("no pytest: run ./scripts/setup");
    user.put(
        "test_two.py",
        "def test_two(): assert 1 + 1 == 2\ndef test_three(): assert 1 + 1 == 3\n",
    );
    let sandbox = user.sandbox_with_readable(&programs).await;
    let result = python_run(&sandbox, &user.root(), "pytest", None).await;
    assert_eq!(
        (result.ok, result.code),
        (false, 1),
        "{}{}",
        result.stdout,
        result.stderr
    );
    assert!(
        result.stdout.contains("1 failed, 1 passed"),
        "{}",
        result.stdout
    );
    user.put("test_two.py", "def test_two(): assert 1 + 1 == 2\n");
    let result = python_run(&sandbox, &user.root(), "pytest", None).await;
    assert!(
        result.ok && result.stdout.contains("1 passed"),
        "{}{}",
        result.stdout,
        result.stderr
    );
}

/// Version managers put their own Python first in PATH, in the home directory, which a tool cannot see.
#[tokio::test]
async fn python_in_home_directory_is_used_if_it_is_on_the_path() {
    let user = User::new();
    let shim = user.write("shims/python", "#!/bin/sh\necho from home\n");
    for name in ["python", "python3"] {
        let shim = shim.with_file_name(name);
        std::fs::write(&shim, "#!/bin/sh\necho from home\n").unwrap();
        std::fs::set_permissions(&shim, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let sandbox = user.sandbox_with_path(shim.parent().unwrap()).await;
    let result = python_run(&sandbox, &user.root(), "pytest", None).await;
    let output = format!("{}{}", result.stdout, result.stderr);
    assert_eq!(output, "from home\n");
}

#[test]
fn tool_schema_has_openai_format() {
    let user = User::new();
    let tools = user.files().0;
    let offered = tool_schema(&tools);
    let names: Vec<_> = offered
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "fs_read",
            "fs_write",
            "fs_list",
            "fs_edit",
            "search",
            "apply_patch",
            "shell_run",
            "python_run",
        ]
    );
    assert_eq!(
        offered[1]["function"]["parameters"],
        json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "The file, relative to the workspace. Missing directories are created.",
                },
                "content": {"type": "string", "description": "The complete text of the file."},
            },
            "required": ["path", "content"],
        })
    );
}

#[tokio::test]
async fn dispatch_calls_tools_by_name() {
    let user = User::new();
    let tools = user.files().0;
    let kinds: Vec<ToolKind> = tools.iter().map(|tool| tool.spec().kind).collect();
    assert_eq!(
        kinds,
        [Read, Write, Read, Write, Read, Write, Execute, Execute]
    );

    let call = async |name: &str, args: Value| dispatch_tool(&tools, name, args).await;
    let args = json!({"path": "a.txt", "content": "x"});
    assert_eq!(
        call("fs_write", args).await.unwrap(),
        "wrote a.txt (1 lines, 1 bytes)"
    );
    // Some models pass their arguments as a string.
    assert_eq!(
        call("fs_read", json!("{\"path\": \"a.txt\"}"))
            .await
            .unwrap(),
        "x"
    );
    assert_eq!(call("fs_list", Value::Null).await.unwrap(), "a.txt");
    let bad = call("fs_read", json!({"file": "a.txt"})).await.unwrap();
    assert_eq!(bad, "fs_read: invalid arguments: missing field `path`");
    assert!(
        call("fs_read", json!([1]))
            .await
            .unwrap()
            .contains("invalid arguments")
    );
    assert!(
        call("fs_eat", json!({}))
            .await
            .unwrap()
            .starts_with("unknown tool: fs_eat: available: fs_read")
    );
    let error = call("fs_read", json!({"path": "../a"})).await.unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        (ErrorCode::PermissionDenied, "path escapes sandbox")
    );
}

#[test]
fn schemas_are_accepted_by_strict_apis() {
    let user = User::new();
    for tool in user.files().0 {
        let spec = tool.spec();
        let text = spec.parameters.to_string();
        for word in ["$ref", "$schema", "null", "anyOf", "format", "title"] {
            assert!(
                !text.contains(&format!("\"{word}\"")),
                "{}: {text}",
                spec.name
            );
        }
        let properties = spec.parameters["properties"].as_object().unwrap();
        for (name, schema) in properties {
            assert!(schema["description"].is_string(), "{} {name}", spec.name);
            assert!(schema["type"].is_string(), "{} {name}", spec.name);
        }
    }
}

#[tokio::test]
async fn p16_no_command_runs_without_isolation() {
    let user = User::new();
    let sandbox = user.sandbox(Mechanism::None).await;
    for toolbox in [
        LocalTools::without_isolation("no isolation: no mechanism is available"),
        LocalTools::new(sandbox.clone()),
    ] {
        let tools = user.tools_of(toolbox);
        for output in [
            tools.shell("touch ran").await,
            tools.python("open('ran', 'w')").await,
        ] {
            assert!(
                !output.success && output.text.starts_with("no isolation: "),
                "{}",
                output.text
            );
            assert_eq!(output.output["code"], 126);
        }
        assert!(tools.call("fs_list", json!({})).await.success);
    }
    assert!(!user.project().join("ran").exists());
    // The caller can request it explicitly.
    let tools = user.tools_of(LocalTools::unconfined(sandbox));
    assert_eq!(text_of(&tools.shell("echo ran").await), (true, "ran"));
    assert!(
        LocalTools::without_isolation("")
            .tools(Path::new("/nowhere"), windlass_core::DirAccess::Files)
            .is_err()
    );
}
