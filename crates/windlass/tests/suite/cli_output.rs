//! What the commands print.

use serde_json::Value;

use super::cli_world::{Run, World};

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
fn events_are_lines_of_json_and_the_last_is_terminal() {
    let run = World::new().run(&["ask", "-a", "mock", "-o", "events", "hello"]);
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
fn json_is_one_object() {
    let run = World::new().ask_with(SCRIPT, &["-o", "json", "list the files"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["agent"], "demo");
    assert_eq!(report["status"], "result");
    assert_eq!(report["text"], "Two files.");
    assert_eq!(report["tools"][0]["name"], "shell");
    assert_eq!(report["tools"][0]["success"], true);
}

#[test]
fn text_is_the_answer_alone_and_tools_go_to_stderr() {
    let run = World::new().ask_with(SCRIPT, &["list the files"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Two files.\n"));
    assert_eq!(run.stderr, "→ shell {\"command\":\"ls\"}\n");
}

#[test]
fn a_dash_reads_the_prompt_from_stdin() {
    let world = World::new();
    let run = Run::of(
        world
            .windlass()
            .args(["ask", "-a", "mock", "-"])
            .write_stdin("from stdin"),
    );
    assert_eq!((run.code, run.stdout.as_str()), (0, "from stdin\n"));
}

#[test]
fn p24_escapes_from_an_agent_are_shown_not_obeyed() {
    let world = World::new();
    let hostile = "\u{1b}]52;c;aGk=\u{7}\u{202e}gpj.exe\u{9b}31m";
    let ask = |output: &str| {
        Run::of(
            world
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
    assert_eq!(report["text"], hostile, "as data it is exact");
}

#[test]
fn agents_lists_the_configured_and_the_built_in() {
    let world = World::new();
    let path = world.config(SCRIPT);
    let run = world.run(&["agents", "--json", "--config", path.to_str().unwrap()]);
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
fn doctor_says_what_holds_processes_in() {
    let run = World::new().run(&["doctor", "--json"]);
    let checks: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert_eq!(checks[0]["what"], "isolation");
    assert_eq!(checks[0]["state"], "ok", "{checks}");
    assert!(
        checks[1]["found"]
            .as_str()
            .unwrap()
            .starts_with("git version"),
        "{checks}"
    );
}

#[test]
fn every_shell_gets_its_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let run = World::new().run(&["completions", shell]);
        assert_eq!(run.code, 0);
        assert!(run.stdout.contains("doctor"), "{shell}");
    }
}

#[test]
fn logs_name_the_prompt_by_its_length_alone() {
    let world = World::new();
    let run = world.run(&["ask", "-vvv", "-a", "mock", "canary words"]);
    assert!(run.stderr.contains("prompt_len=12"), "{}", run.stderr);
    assert!(run.stderr.contains("backend=\"mock\""), "{}", run.stderr);
    assert!(!run.stderr.contains("canary"), "{}", run.stderr);
}

#[test]
fn a_reader_that_leaves_early_is_no_fault() {
    let world = World::new();
    let program = assert_cmd::cargo::cargo_bin("windlass");
    let script = format!(
        "'{}' completions bash | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}",
        program.display()
    );
    let mut shell = assert_cmd::Command::new("bash");
    let run = Run::of(shell.args(["-c", &script]).env("HOME", world.home()));
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
fn an_agent_that_tries_again_is_seen_to() {
    let run = World::new().ask_with(BUSY, &["hello"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Here.\n"));
    assert_eq!(run.stderr, "↻ again (1 of 3): RateLimited slow down\n");
}

#[test]
fn a_model_without_a_server_is_no_healthy_agent() {
    let world = World::new();
    let path = world.config(BUSY);
    let config = ["--config", path.to_str().unwrap()];
    let run = world.run(&["agents", "--json", config[0], config[1]]);
    let rows: Value = serde_json::from_str(&run.stdout).unwrap();
    let mut rows = rows.as_array().unwrap().iter();
    let away = rows.find(|row| row["name"] == "away").unwrap();
    let problem = away["health"]["problem"].as_str().unwrap();
    assert!(
        problem.starts_with("http://127.0.0.1:1 cannot be reached (nobody listens there)"),
        "{problem}"
    );
    let shown = world.run(&["agents", config[0], config[1]]).stdout;
    let line = shown.lines().find(|line| line.starts_with("away")).unwrap();
    assert!(line.contains("  problem  http://127.0.0.1:1"), "{line}");
}
