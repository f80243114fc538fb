//! Every error is one sentence with the right exit code.

use expect_test::{Expect, expect};

use super::cli_harness::{Harness, Run};

#[track_caller]
fn check(run: &Run, code: i32, expect: Expect) {
    assert_eq!(run.code, code, "{run:?}");
    assert_eq!(run.stdout, "");
    expect.assert_eq(run.error());
}

#[test]
fn invalid_input_is_one_sentence_and_code_2() {
    let harness = Harness::new();
    harness.file("plain.txt", "");
    let ask = |args: &[&str]| {
        let mut all = vec!["ask"];
        all.extend(args);
        harness.run(&all)
    };
    check(
        &ask(&["-a", "mock", "--cwd", "nowhere", "hi"]),
        2,
        expect![
            "the working directory nowhere does not exist: create it or pass another with --cwd"
        ],
    );
    check(
        &ask(&["-a", "mock", "--cwd", "plain.txt", "hi"]),
        2,
        expect!["the working directory plain.txt is a file: pass another with --cwd"],
    );
    check(
        &ask(&["-a", "mok", "hi"]),
        2,
        expect![
            "unknown agent `mok`: known agents: acp, anthropic, auggie, claude, claude-agent-acp, cline, codex, codex-acp, composer-cli, copilot, cursor, direct, fast-agent, gemini, goose, kimi, mock, ollama, openai, opencode, openhands, pi-acp, qwen, replay, vibe (did you mean `mock`?)"
        ],
    );
    check(
        &ask(&["hi"]),
        2,
        expect![
            "no agent selected: pass --agent NAME or set default_agent (known agents: acp, anthropic, auggie, claude, claude-agent-acp, cline, codex, codex-acp, composer-cli, copilot, cursor, direct, fast-agent, gemini, goose, kimi, mock, ollama, openai, opencode, openhands, pi-acp, qwen, replay, vibe)"
        ],
    );
    check(
        &ask(&["-a", "mock", " "]),
        2,
        expect!["the prompt is empty: pass a prompt, or - to read it from stdin"],
    );
    check(
        &Run::of(
            harness
                .windlass()
                .args(["ask", "-a", "mock", "-"])
                .write_stdin("a\0b"),
        ),
        2,
        expect!["the prompt has a NUL character at byte 1: remove it"],
    );
}

#[test]
fn invalid_configuration_is_one_sentence_and_code_2() {
    let harness = Harness::new();
    let with = |config: &str| {
        let mut run = harness.ask_with(config, &["hi"]);
        run.stderr = run
            .stderr
            .replace(harness.home().parent().unwrap().to_str().unwrap(), "");
        run
    };
    check(
        &with("default_agent = "),
        2,
        expect![
            "/named.toml:1:17: not valid TOML: string values must be quoted, expected literal string"
        ],
    );
    check(
        &with("defualt_agent = \"mock\""),
        2,
        expect!["/named.toml:1:1: unknown key `defualt_agent`: did you mean `default_agent`?"],
    );
    check(
        &with("[agents.a]\nbackend = \"mok\"\n"),
        2,
        expect![
            "no agent selected: pass --agent NAME or set default_agent (known agents: a, acp, anthropic, auggie, claude, claude-agent-acp, cline, codex, codex-acp, composer-cli, copilot, cursor, direct, fast-agent, gemini, goose, kimi, mock, ollama, openai, opencode, openhands, pi-acp, qwen, replay, vibe)"
        ],
    );
    check(
        &with("default_agent = \"a\"\n[agents.a]\nbackend = \"mok\"\n"),
        2,
        expect![[
            r#"unknown backend "mok", did you mean "mock"? (available: acp, anthropic, auggie, claude, claude-agent-acp, cline, codex, codex-acp, composer-cli, copilot, cursor, direct, fast-agent, gemini, goose, kimi, mock, ollama, openai, opencode, openhands, pi-acp, qwen, replay, vibe)"#
        ]],
    );
    check(
        &with(
            "default_agent = \"a\"\n[agents.a]\nbackend = \"mock\"\nexpectations = [{ text = 5 }]\n",
        ),
        2,
        expect!["agents.a.expectations[0].text: invalid type: integer `5`, expected a string"],
    );
    check(
        &with("[agents.a]\ntimeout_secs = \"soon\"\n"),
        2,
        expect![
            "/named.toml:2:16: `agents.a.timeout_secs` is text, expected whole seconds from 1 to 604800"
        ],
    );
}

#[test]
fn failed_turn_exits_1_and_timeout_124() {
    let failing = r#"
        default_agent = "a"
        [agents.a]
        backend = "mock"
        [[agents.a.expectations]]
        error = { code = "RateLimited", message = "come back later" }
    "#;
    check(
        &Harness::new().ask_with(failing, &["hi"]),
        1,
        expect!["come back later"],
    );

    let hanging = r#"
        default_agent = "a"
        [agents.a]
        backend = "mock"
        expectations = [{ hang = true }]
    "#;
    check(
        &Harness::new().ask_with(hanging, &["--timeout", "0.2", "hi"]),
        124,
        expect!["the turn took longer than 0.2 s"],
    );
}

#[test]
fn unexpected_prompt_error_shows_expected_and_actual() {
    let config = r#"
        default_agent = "a"
        [agents.a]
        backend = "mock"
        expectations = [{ prompt = "weather", text = "sunny" }]
    "#;
    check(
        &Harness::new().ask_with(config, &["stocks"]),
        1,
        expect![[r#"unexpected prompt: expected a prompt that contains "weather", got "stocks""#]],
    );
}

#[test]
fn unknown_session_is_reported() {
    let run = Harness::new().run(&["ask", "-a", "mock", "--session", "lost", "hi"]);
    check(
        &run,
        1,
        expect!["session lost is not known to mock: start a new one"],
    );
}

#[test]
fn invalid_timeouts_are_rejected() {
    for time in ["0", "-1", "inf", "nan", "1e9", "soon"] {
        let run = Harness::new().run(&["ask", "-a", "mock", &format!("--timeout={time}"), "hi"]);
        assert_eq!(run.code, 2, "{time}");
        assert!(run.stderr.contains("expected"), "{time}: {}", run.stderr);
    }
}

#[test]
fn init_writes_once_and_trusts_its_file() {
    let harness = Harness::new();
    let run = harness.run(&["init"]);
    assert_eq!(run.code, 0, "{run:?}");
    let run = harness.run(&["ask", "hello"]);
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (0, "hello\n", "")
    );
    let run = harness.run(&["init"]);
    assert_eq!(run.code, 2);
    assert!(run.error().contains("already exists"), "{run:?}");
    assert_eq!(harness.run(&["init", "--force"]).code, 0);
}
