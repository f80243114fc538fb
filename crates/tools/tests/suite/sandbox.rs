//! Attacks by commands: those that pass the pre-check are stopped by the kernel.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use serde_json::json;
use windlass_sandbox::{LimitOverrides, Mechanism};
use windlass_tools::{CommandLimits, LocalTools};

use super::support::{ISOLATING, User, disappears, text_of};

/// Tries to write to a file outside in every way that passes the pre-check.
#[tokio::test]
async fn p16_no_command_can_write_outside() {
    let user = User::with_plain_path();
    let target = user.write("outside", "kept");
    user.put("a.txt", "x");
    let evil = format!("echo evil > {}", target.display());
    let python = format!(
        "python3 -c \"open('{}', 'w').write('evil')\"",
        target.display()
    );
    let commands = [
        evil.clone(),
        format!("ls; {evil}"),
        format!("ls && {evil} || {evil}"),
        format!("ls | tee {}", target.display()),
        format!("echo $({evil})"),
        format!("echo `{evil}`"),
        format!("ls\n{evil}"),
        format!("cat <({evil})"),
        format!("find . -exec sh -c '{evil}' \\;"),
        // A pager is started only on a terminal.
        format!(
            "git init -q; unset GIT_PAGER; script -qc \"git -c core.pager='{evil} #' -p diff --no-index /dev/null a.txt\" /dev/null"
        ),
        format!("git -c core.fsmonitor='{evil} #' status"),
        format!("git -c alias.x='!{evil}' x"),
        format!("tar -cf x.tar a.txt --checkpoint=1 --checkpoint-action=exec='{evil}'"),
        format!("awk 'BEGIN {{ system(\"{evil}\") }}'"),
        format!("sed -n '1e {evil}' a.txt"),
        format!("make -f - <<'EOF'\nall:\n\t{evil}\nEOF"),
        format!("echo a.txt | xargs -I@ sh -c '{evil}'"),
        format!("eval '{evil}'"),
        format!("env sh -c '{evil}'"),
        format!("ln -s {} link; echo evil > link", target.display()),
        format!("ln {} hard; echo evil > hard", target.display()),
        format!("cp a.txt {}", target.display()),
        format!("LD_PRELOAD=./evil.so {python}"),
        format!("cd / && {evil}"),
        python,
    ];
    // Without isolation each command must succeed; otherwise the test would prove nothing.
    let unconfined = user.tools_of(LocalTools::unconfined(user.sandbox(Mechanism::None).await));
    for command in &commands {
        let output = unconfined.shell(command).await;
        let changed = std::fs::read_to_string(&target).unwrap();
        assert_ne!(changed, "kept", "{command}: {}", output.text);
        std::fs::write(&target, "kept").unwrap();
        remove_leftovers(&user);
    }
    for mechanism in ISOLATING {
        let tools = user.tools(mechanism).await;
        for command in &commands {
            let output = tools.shell(command).await;
            assert_ne!(output.output["code"], 126, "{command}: {}", output.text);
            let kept = std::fs::read_to_string(&target).unwrap();
            assert_eq!(kept, "kept", "{mechanism}: {command}");
        }
        let code = format!("open({:?}, 'w').write('evil')", target.display());
        // If the home directory is private, the file is created there and removed with the command.
        tools.python(&code).await;
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
        remove_leftovers(&user);
    }
}

/// Removes what the commands left in the project.
fn remove_leftovers(user: &User) {
    for name in ["link", "hard", "x.tar"] {
        let _ = std::fs::remove_file(user.project().join(name));
    }
}

/// P18, P19: no command sees the environment of this process.
#[tokio::test]
async fn p18_no_command_sees_the_environment_or_secrets() {
    let user = User::new();
    user.write(".ssh/id_ed25519", "canary-ssh");
    user.write(".netrc", "canary-netrc");
    user.write("diary", "canary-diary");
    let own = std::process::id();
    let home = user.home().display().to_string();
    for mechanism in ISOLATING {
        let tools = user.tools(mechanism).await;
        for command in [
            "env; export; set".to_owned(),
            "cat /proc/1/environ /proc/self/environ /proc/$PPID/environ | tr '\\0' '\\n'"
                .to_owned(),
            format!("cat /proc/{own}/environ /proc/{own}/cmdline"),
            "cat /proc/*/environ".to_owned(),
            format!(
                "cat ~/.ssh/id_ed25519 ~/.netrc {home}/.ssh/id_ed25519 {home}/.netrc {home}/diary"
            ),
            format!("grep -r canary {home} /proc/self/fd/"),
            format!("cat /proc/self/root{home}/diary /proc/1/root{home}/diary"),
        ] {
            let output = tools.shell(&command).await;
            assert!(
                !output.text.contains("canary-"),
                "{mechanism}: {command}: {}",
                output.text
            );
            let all = output.output.to_string();
            assert!(!all.contains("canary-"), "{all}");
            // A variable that this process really has.
            assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
            assert!(
                !all.contains("CARGO_MANIFEST_DIR"),
                "{mechanism}: {command}"
            );
        }
        let code = "import os\nprint(dict(os.environ))\nfor p in os.listdir('/proc'):\n  try: print(open(f'/proc/{p}/environ').read())\n  except OSError: pass";
        let output = tools.python(code).await;
        assert!(
            output.success
                && !output.text.contains("canary")
                && !output.text.contains("MANIFEST_DIR"),
            "{mechanism}: {}",
            output.text
        );
    }
}

#[tokio::test]
async fn p16_no_command_reaches_the_network_or_a_socket() {
    let user = User::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let socket = user.home().join("daemon.sock");
    let _daemon = UnixListener::bind(&socket).unwrap();
    for mechanism in ISOLATING {
        let tools = user.tools(mechanism).await;
        let shell = tools
            .shell(&format!(
                "exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected"
            ))
            .await;
        assert!(!shell.text.contains("connected"), "{mechanism}");
        for code in [
            format!("import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('connected')"),
            "import socket; socket.create_connection(('169.254.169.254', 80), 2); print('connected')".to_owned(),
            "import socket; print('connected', socket.getaddrinfo('canary.example.com', 80))".to_owned(),
            format!("import socket; socket.socket(socket.AF_UNIX).connect('{}'); print('connected')", socket.display()),
        ] {
            let output = tools.python(&code).await;
            assert!(!output.success && output.output["stdout"] == "", "{mechanism}: {}", output.text);
        }
        let blocked = tools.shell("curl http://127.0.0.1").await;
        let expected =
            "blocked: curl http://127.0.0.1\n[exit code 126]\n(network access is not available)";
        assert_eq!(text_of(&blocked), (false, expected));
    }
}

#[tokio::test]
async fn p5_no_process_outlives_its_call() {
    let user = User::new();
    let double_fork = |mark: &str| {
        format!(
            "import os, time\nif os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0:\n    os.execlp('sleep', 'sleep', '{mark}')\n  os._exit(0)\nos.wait()\nprint('left')"
        )
    };
    for (number, mechanism) in ISOLATING.into_iter().enumerate() {
        let tools = user.tools(mechanism).await;
        let mark = |case: u32| {
            format!(
                "{}{}",
                900_000 + std::process::id() % 90_000,
                number as u32 * 10 + case
            )
        };
        for (case, command) in [
            (1, "nohup sleep MARK > /dev/null 2>&1 & echo left"),
            (
                2,
                "(sleep MARK &) ; (trap '' TERM HUP; sleep MARK &) ; echo left",
            ),
            (
                3,
                "python3 -c \"import os; os.setsid() if os.fork() == 0 else os._exit(0); os.execlp('sleep', 'sleep', 'MARK')\"; echo left",
            ),
        ] {
            let output = tools.shell(&command.replace("MARK", &mark(case))).await;
            assert!(output.text.contains("left"), "{mechanism}: {}", output.text);
            assert!(disappears(&mark(case)).await, "{mechanism}: {command}");
        }
        let output = tools.python(&double_fork(&mark(4))).await;
        assert_eq!(text_of(&output), (true, "left"), "{mechanism}");
        assert!(disappears(&mark(4)).await, "{mechanism}");
        // The parent, the first process and this process survive every signal.
        let own = std::process::id();
        tools
            .shell(&format!("kill -9 {own} 1 $PPID; kill -9 -1"))
            .await;
        assert_eq!(text_of(&tools.shell("echo alive").await), (true, "alive"));
    }
}

#[tokio::test]
async fn p5_dropped_call_is_stopped() {
    let user = User::new();
    let tools = user.tools(Mechanism::Bubblewrap).await;
    let mark = format!("{}77", 900_000 + std::process::id() % 90_000);
    let call = tools.shell("echo x > started; sleep MARK");
    drop(call);
    let command = format!("echo x > started; sleep {mark}");
    let mut call = Box::pin(tools.shell(&command));
    let started = user.project().join("started");
    while !started.exists() {
        let pause = tokio::time::sleep(Duration::from_millis(5));
        tokio::select! { _ = &mut call => panic!("it ended"), () = pause => {} }
    }
    drop(call);
    assert!(disappears(&mark).await);
}

#[tokio::test]
async fn p12_time_processes_and_file_sizes_are_limited() {
    let user = User::new();
    let limits = CommandLimits {
        max_deadline: Duration::from_secs(3),
        ..CommandLimits::default()
    };
    let resources = LimitOverrides {
        processes: Some(64),
        file_bytes: Some(1 << 20),
        ..LimitOverrides::default()
    };
    let sandbox = user.sandbox(Mechanism::Bubblewrap).await;
    let sandbox = sandbox.with_limits(resources);
    let tools = user.tools_of(LocalTools::new(sandbox).limits(limits));
    let call = async |cmd: &str| {
        tools
            .call("shell_run", json!({"cmd": cmd, "timeout_secs": 1}))
            .await
    };
    let output = call("echo before; while :; do :; done").await;
    assert_eq!(output.output["code"], 124);
    assert!(
        output
            .text
            .starts_with("before\n[stderr]\n[stopped: it took longer than "),
        "{}",
        output.text
    );
    // A fork bomb neither outlives its timeout nor affects the machine.
    call(":(){ :|:& };:").await;
    assert_eq!(text_of(&call("echo alive").await), (true, "alive"));
    let output = call("head -c 100000000 /dev/zero > big; stat -c %s big").await;
    assert_eq!(output.output["stdout"], "1048576\n", "{}", output.text);
    let output = call("exec head -c 100000000 /dev/zero > big").await;
    assert!(
        output.text.contains("raise `limits.file_gb`]"),
        "{}",
        output.text
    );
    // The timeout that a model can set has a maximum.
    let output = tools
        .call(
            "python_run",
            json!({"mode": "snippet", "code": "while True: pass", "timeout_secs": 100_000}),
        )
        .await;
    assert_eq!(output.output["code"], 124);
}

#[tokio::test]
async fn p12_long_output_keeps_head_and_tail() {
    let user = User::new();
    let tools = user.tools(Mechanism::Bubblewrap).await;
    let output = tools
        .shell("echo first; seq 5000000; echo last; seq 5000000 >&2")
        .await;
    assert!(output.success);
    assert!(output.text.len() < (1 << 20) + 200, "{}", output.text.len());
    let stdout = output.output["stdout"].as_str().unwrap();
    assert!(stdout.starts_with("first\n1\n") && stdout.ends_with("5000000\nlast\n"));
    assert!(stdout.contains(" bytes cut …]"));
    let long = "x".repeat(200_000);
    assert_eq!(tools.shell(&format!("echo {long}")).await.output["code"], 2);
}

/// Files that programs outside the sandbox execute later cannot be written, whether they exist or not.
#[tokio::test]
async fn p16_hooks_and_settings_cannot_be_written() {
    let user = User::new();
    let tools = user.tools(Mechanism::Bubblewrap).await;
    for name in [
        ".git/hooks/pre-commit",
        ".git/config",
        ".envrc",
        ".bashrc",
        ".claude/settings.json",
        ".vscode/tasks.json",
    ] {
        let dir = std::path::Path::new(name).parent().unwrap().display();
        tools
            .shell(&format!("mkdir -p ./{dir}; echo evil > {name}"))
            .await;
        assert!(!user.project().join(name).exists(), "{name}");
    }
}
