//! Output of the commands.

use serde_json::Value;

use super::cli_harness::{Harness, Run};

const SCRIPT: &str = r#"
default_agent = "demo"

[agents.demo]
backend = "mock"

[[agents.demo.expectations]]
prompt = "list"
text = "Two files."
tools = [{ name = "shell", input = { command = "ls" }, output = "a\nb" }]
"#;

#[test]
fn events_are_json_lines_and_end_with_terminal_event() {
    let run = Harness::new().run(&["ask", "-a", "mock", "-o", "events", "hello"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let events: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = events
        .iter()
        .map(|e| e["event"]["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["Text", "Result"]);
    assert_eq!(events[1]["seq"], 2);
    assert_eq!(events[1]["event"]["text"], "hello");
}

#[test]
fn json_output_is_one_object() {
    let run = Harness::new().ask_with(SCRIPT, &["-o", "json", "list the files"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["agent"], "demo");
    assert_eq!(report["status"], "result");
    assert_eq!(report["text"], "Two files.");
    assert_eq!(report["tools"][0]["name"], "shell");
    assert_eq!(report["tools"][0]["success"], true);
}

#[test]
fn text_output_is_answer_on_stdout_and_tools_on_stderr() {
    let run = Harness::new().ask_with(SCRIPT, &["list the files"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Two files.\n"));
    assert_eq!(run.stderr, "→ shell {\"command\":\"ls\"}\n");
}

#[test]
fn dash_reads_prompt_from_stdin() {
    let harness = Harness::new();
    let run = Run::of(
        harness
            .windlass()
            .args(["ask", "-a", "mock", "-"])
            .write_stdin("from stdin"),
    );
    assert_eq!((run.code, run.stdout.as_str()), (0, "from stdin\n"));
}

#[test]
fn p24_terminal_escapes_from_agent_are_escaped() {
    let harness = Harness::new();
    let hostile = "\u{1b}]52;c;aGk=\u{7}\u{202e}gpj.exe\u{9b}31m";
    let ask = |output: &str| {
        Run::of(
            harness
                .windlass()
                .args(["ask", "-a", "mock", "-o", output, "-"])
                .write_stdin(hostile),
        )
    };
    for output in ["text", "json", "events"] {
        let run = ask(output);
        let shown = format!("{}{}", run.stdout, run.stderr);
        let hidden = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!shown.contains(hidden), "{output}: {shown:?}");
    }
    let report: Value = serde_json::from_str(&ask("json").stdout).unwrap();
    assert_eq!(report["text"], hostile, "the JSON value is exact");
}

#[test]
fn agents_lists_configured_and_built_in_agents() {
    let harness = Harness::new();
    let path = harness.config(SCRIPT);
    let run = harness.run(&["agents", "--json", "--config", path.to_str().unwrap()]);
    let rows: Value = serde_json::from_str(&run.stdout).unwrap();
    let names: Vec<&str> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"demo") && names.contains(&"mock"),
        "{names:?}"
    );
    assert_eq!(rows[0]["health"], "ok");
    assert_eq!(rows[0]["default"], true);
}

#[test]
fn agents_without_their_program_have_a_problem() {
    let harness = Harness::new();
    let backends = [
        "acp",
        "claude",
        "codex",
        "composer-cli",
        "cursor",
        "direct",
        "gemini",
        "qwen",
    ];
    let tables = backends.map(|backend| {
        let key = if backend == "acp" {
            "agent_binary"
        } else {
            "bin"
        };
        format!("[agents.my-{backend}]\nbackend = '{backend}'\n{key} = '/missing/program'\n")
    });
    let path = harness.config(&tables.concat());
    let run = harness.run(&["agents", "--json", "--config", path.to_str().unwrap()]);
    let rows: Vec<Value> = serde_json::from_str(&run.stdout).unwrap();
    for backend in backends {
        let name = format!("my-{backend}");
        let row = rows.iter().find(|row| row["name"] == name).unwrap();
        let problem = row["health"]["problem"].as_str().unwrap_or_default();
        assert!(problem.contains("/missing/program does not exist"), "{row}");
    }
}

#[test]
fn doctor_reports_isolation_and_git() {
    let run = Harness::new().run(&["doctor", "--json"]);
    let checks: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert_eq!(checks[0]["name"], "isolation");
    assert_eq!(checks[0]["status"], "ok", "{checks}");
    // The old names are kept for one release.
    assert_eq!(checks[0]["what"], "isolation");
    assert!(
        checks[1]["detail"]
            .as_str()
            .unwrap()
            .starts_with("git version"),
        "{checks}"
    );
}

#[test]
fn completions_are_generated_for_every_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let run = Harness::new().run(&["completions", shell]);
        assert_eq!(run.code, 0);
        assert!(run.stdout.contains("doctor"), "{shell}");
    }
}

#[test]
fn logs_contain_only_the_length_of_the_prompt() {
    let harness = Harness::new();
    let run = harness.run(&["ask", "-vvv", "-a", "mock", "canary words"]);
    assert!(run.stderr.contains("prompt_len=12"), "{}", run.stderr);
    assert!(run.stderr.contains("backend=\"mock\""), "{}", run.stderr);
    assert!(!run.stderr.contains("canary"), "{}", run.stderr);
}

#[test]
fn closed_stdout_is_not_an_error() {
    let harness = Harness::new();
    let program = assert_cmd::cargo::cargo_bin("windlass");
    let script = format!(
        "'{}' completions bash | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}",
        program.display()
    );
    let mut shell = assert_cmd::Command::new("bash");
    let run = Run::of(shell.args(["-c", &script]).env("HOME", harness.home()));
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("0\n", ""));
}

const BUSY: &str = r#"
default_agent = "busy"

[agents.busy]
backend = "mock"

[[agents.busy.expectations]]
events = [
    { type = "Custom", kind = "retry", payload = { attempt = 1, of = 3, code = "RateLimited", message = "slow down" } },
    { type = "Result", text = "Here.", metadata = {} },
]

[agents.away]
backend = "ollama"
endpoint = "http://127.0.0.1:1"
"#;

#[test]
fn retry_of_agent_is_printed() {
    let run = Harness::new().ask_with(BUSY, &["hello"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Here.\n"));
    assert_eq!(run.stderr, "↻ retry (1 of 3): RateLimited slow down\n");
}

#[test]
fn model_without_server_is_reported_as_problem() {
    let harness = Harness::new();
    let path = harness.config(BUSY);
    let config = ["--config", path.to_str().unwrap()];
    let run = harness.run(&["agents", "--json", config[0], config[1]]);
    let rows: Value = serde_json::from_str(&run.stdout).unwrap();
    let mut rows = rows.as_array().unwrap().iter();
    let away = rows.find(|row| row["name"] == "away").unwrap();
    let problem = away["health"]["problem"].as_str().unwrap();
    assert!(
        problem.starts_with("http://127.0.0.1:1 cannot be reached (connection refused)"),
        "{problem}"
    );
    let shown = harness.run(&["agents", config[0], config[1]]).stdout;
    let line = shown.lines().find(|line| line.starts_with("away")).unwrap();
    assert!(line.contains("  problem  http://127.0.0.1:1"), "{line}");
}

#[test]
fn agents_that_are_not_used_are_only_named() {
    let harness = Harness::new();
    let path = harness.config(BUSY);
    let config = ["--config", path.to_str().unwrap()];
    let is_row = |line: &str| line.starts_with("goose");
    let shown = harness.run(&["agents", config[0], config[1]]).stdout;
    assert!(!shown.lines().any(is_row), "{shown}");
    let mut lines = shown.lines();
    assert!(
        lines.any(|line| line.starts_with("not installed or not set up: ")),
        "{shown}"
    );
    assert!(shown.contains(" goose,"), "{shown}");
    assert!(shown.contains("`windlass agents --all`"), "{shown}");
    let all = harness
        .run(&["agents", "--all", config[0], config[1]])
        .stdout;
    assert!(all.lines().any(is_row), "{all}");
    assert!(!all.contains("not set up:"), "{all}");
    let doctor = harness.run(&["doctor", config[0], config[1]]).stdout;
    assert!(!doctor.contains("agent goose"), "{doctor}");
    assert!(doctor.contains("missing  agent away: "), "{doctor}");
    assert!(doctor.contains(" goose,"), "{doctor}");
}
