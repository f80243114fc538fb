//! A configuration error is one sentence: location, problem, and what to do.

use std::os::unix::fs::symlink;

use expect_test::{Expect, expect};
use windlass::config::{KEYS, ValueKind};

use super::config_harness::Harness;

/// Checks the output for each of these project files.
#[track_caller]
fn check(projects: &[&str], expect: Expect) {
    let answers = projects.iter().map(|text| {
        let seen = Harness::with_project(text).seen();
        let seen = seen.replace("error: /home/repo/windlass.toml:", "");
        format!("{text}\n    {seen}")
    });
    expect.assert_eq(&answers.collect::<String>());
}

#[test]
fn unknown_key_error_suggests_closest_key() {
    check(
        &[
            "defualt_agent = 'x'",
            "agents.codex.timout_secs = 3",
            "agent.codex.model = 'x'",
            "timeout_secs = 3",
            "stores = { url = 'x' }",
            "acp.agent_bin = 'x'",
            "zzz = 1",
            "store.url.x = 1",
            "agents.a.extra_env.A.B = '1'",
            r#""\u001b[31mred" = 1"#,
        ],
        expect![[r#"
            defualt_agent = 'x'
                1:1: unknown key `defualt_agent`: did you mean `default_agent`?
            agents.codex.timout_secs = 3
                1:14: unknown key `agents.codex.timout_secs`: did you mean `agents.codex.timeout_secs`?
            agent.codex.model = 'x'
                1:1: unknown key `agent`: did you mean `agents`?
            timeout_secs = 3
                1:1: unknown key `timeout_secs`: did you mean `agents.<name>.timeout_secs`?
            stores = { url = 'x' }
                1:1: unknown key `stores`: did you mean `store`?
            acp.agent_bin = 'x'
                1:5: unknown key `acp.agent_bin`: did you mean `agents.acp.agent_binary`?
            zzz = 1
                1:1: unknown key `zzz`: known keys here: agents, changes, commit, composites, default_agent, gateway, land, limits, model_list, notify, policy, prices, publish, review, routing, run, sandbox, server, spending, store, tasks, telemetry, tests, worker, workspace
            store.url.x = 1
                1:7: `store.url` is a table, expected text
            agents.a.extra_env.A.B = '1'
                1:20: `agents.a.extra_env.A` is a table, expected text (it may be empty)
            "\u001b[31mred" = 1
                1:1: unknown key `"\u{1b}[31mred"`: known keys here: agents, changes, commit, composites, default_agent, gateway, land, limits, model_list, notify, policy, prices, publish, review, routing, run, sandbox, server, spending, store, tasks, telemetry, tests, worker, workspace
        "#]],
    );
}

#[test]
fn value_of_wrong_type_is_described() {
    check(
        &[
            "default_agent = 3",
            "default_agent = ''",
            "agents = 3",
            "agents.codex = true",
            "[[agents]]",
            "[default_agent]",
            "agents.a.command = 'qwen --acp'",
            "agents.a.command = []",
            "agents.a.command = ['x', 1]",
            "agents.a.permissions = 'sure'",
            "agents.a.endpoint = 'ftp://me:secret@host'",
            "agents.a.api_key_env = 'sk-secret'",
            "agents.a.extra_env = ['A']",
            "agents.a.extra_env.A = 1",
            r#"agents.a.bin = "a\u0000b""#,
            "agents.a.expectations = [1]",
            "sandbox.mechanism = 'bublewrap'",
            "tests.network = 'yes'",
        ],
        expect![[r#"
            default_agent = 3
                1:17: `default_agent` is a number, expected the name of an agent (1 to 64 letters, digits, `-`, `_` or `.`, a letter or digit first), `agent/model` or `composite/profile/<name>`
            default_agent = ''
                1:17: `default_agent` is empty, expected the name of an agent (1 to 64 letters, digits, `-`, `_` or `.`, a letter or digit first), `agent/model` or `composite/profile/<name>`
            agents = 3
                1:10: `agents` is a number, expected a table
            agents.codex = true
                1:16: `agents.codex` is true, expected a table
            [[agents]]
                1:1: `agents` is a list, expected a table
            [default_agent]
                1:1: `default_agent` is a table, expected the name of an agent (1 to 64 letters, digits, `-`, `_` or `.`, a letter or digit first), `agent/model` or `composite/profile/<name>`
            agents.a.command = 'qwen --acp'
                1:20: `agents.a.command` is text, expected a list such as ["program", "argument"]
            agents.a.command = []
                1:20: `agents.a.command` is an empty list, expected a list such as ["program", "argument"]
            agents.a.command = ['x', 1]
                1:20: `agents.a.command` is a list with an invalid item, expected a list such as ["program", "argument"]
            agents.a.permissions = 'sure'
                1:24: `agents.a.permissions` is "sure", expected one of allow, deny, ask, or a table
            agents.a.endpoint = 'ftp://me:secret@host'
                1:21: `agents.a.endpoint` is not valid, expected an address that starts with http:// or https://
            agents.a.api_key_env = 'sk-secret'
                1:24: `agents.a.api_key_env` is not valid, expected the name of an environment variable such as OPENAI_API_KEY, never the key itself
            agents.a.extra_env = ['A']
                1:22: `agents.a.extra_env` is a list, expected a table
            agents.a.extra_env.A = 1
                1:24: `agents.a.extra_env.A` is a number, expected text (it may be empty)
            agents.a.bin = "a\u0000b"
                1:16: `agents.a.bin` is text with a NUL character, expected text
            agents.a.expectations = [1]
                1:25: `agents.a.expectations` is a list with an invalid item, expected a list of tables
            sandbox.mechanism = 'bublewrap'
                1:21: `sandbox.mechanism` is "bublewrap", expected one of auto, bubblewrap, landlock, none
            tests.network = 'yes'
                1:17: `tests.network` is text, expected true or false
        "#]],
    );
}

#[test]
fn seconds_must_be_whole_and_in_range() {
    check(
        &[
            "limits.turn_secs = 0",
            "limits.turn_secs = -1",
            "limits.turn_secs = 1.5",
            "limits.turn_secs = inf",
            "limits.turn_secs = nan",
            "limits.turn_secs = 604801",
            "limits.turn_secs = 99999999999999999999",
            "limits.turn_secs = '10'",
            "limits.turn_secs = 1979-05-27",
        ],
        expect![[r#"
            limits.turn_secs = 0
                1:20: `limits.turn_secs` is 0, expected whole seconds from 1 to 604800
            limits.turn_secs = -1
                1:20: `limits.turn_secs` is -1, expected whole seconds from 1 to 604800
            limits.turn_secs = 1.5
                1:20: `limits.turn_secs` is 1.5, expected whole seconds from 1 to 604800
            limits.turn_secs = inf
                1:20: `limits.turn_secs` is not a finite number, expected whole seconds from 1 to 604800
            limits.turn_secs = nan
                1:20: `limits.turn_secs` is not a finite number, expected whole seconds from 1 to 604800
            limits.turn_secs = 604801
                1:20: `limits.turn_secs` is 604801, expected whole seconds from 1 to 604800
            limits.turn_secs = 99999999999999999999
                1:20: `limits.turn_secs` is a number that does not fit into 64 bits, expected whole seconds from 1 to 604800
            limits.turn_secs = '10'
                1:20: `limits.turn_secs` is text, expected whole seconds from 1 to 604800
            limits.turn_secs = 1979-05-27
                1:20: `limits.turn_secs` is a date or a time, expected whole seconds from 1 to 604800
        "#]],
    );
}

#[test]
fn invalid_names_are_rejected() {
    check(
        &[
            "agents.\"\".model = 'x'",
            r#"agents."a\u0007".model = 'x'"#,
            "agents.--help.model = 'x'",
            "agents.a.extra_env.\"A=B\" = 'x'",
        ],
        expect![[r#"
            agents."".model = 'x'
                1:8: `agents.""` cannot name an agent: use 1 to 64 letters, digits, `-`, `_` or `.`, a letter or digit first
            agents."a\u0007".model = 'x'
                1:8: `agents."a\u{7}"` cannot name an agent: use 1 to 64 letters, digits, `-`, `_` or `.`, a letter or digit first
            agents.--help.model = 'x'
                1:8: `agents.--help` cannot name an agent: use 1 to 64 letters, digits, `-`, `_` or `.`, a letter or digit first
            agents.a.extra_env."A=B" = 'x'
                1:20: `agents.a.extra_env."A=B"` cannot name a variable: use letters, digits and `_`, no digit first
        "#]],
    );
}

#[test]
fn invalid_toml_is_one_line() {
    check(
        &[
            "default_agent = x",
            "limits.turn_secs = 1\nü = \"x",
            "default_agent = 'a'\ndefault_agent = 'b'",
            "default_agent = 'a'\nagent_backend = 'b'",
        ],
        expect![[r#"
            default_agent = x
                1:17: not valid TOML: string values must be quoted, expected literal string
            limits.turn_secs = 1
            ü = "x
                2:1: not valid TOML: invalid unquoted key, expected letters, numbers, `-`, `_`
            default_agent = 'a'
            default_agent = 'b'
                2:1: not valid TOML: duplicate key
            default_agent = 'a'
            agent_backend = 'b'
                1:17: `default_agent` is also set at /home/repo/windlass.toml:2:17: keep one of the two
        "#]],
    );
}

#[test]
fn oversized_input_is_one_line() {
    let answer = |text: String| Harness::with_project(&text).seen();
    let answers = [
        answer(format!("a = {}", "[".repeat(100_000))),
        answer(format!("{} = 1", vec!["a"; 100_000].join("."))),
        answer(format!("agents.a.permissions = {}", "{a=".repeat(1_000))),
        answer(
            (0..2_000)
                .map(|n| format!("agents.a{n}.timeout_secs = 1\n"))
                .collect(),
        ),
        answer(format!("{} = 1", "a".repeat(100_000))),
        answer("#".repeat((1 << 20) + 1)),
    ];
    expect![[r#"
        error: /home/repo/windlass.toml:1:85: not valid TOML: cannot recurse further; max recursion depth met
        error: /home/repo/windlass.toml: not valid TOML: recursion limit
        error: /home/repo/windlass.toml:1:264: not valid TOML: cannot recurse further; max recursion depth met
        error: /home/repo/windlass.toml:1900:29: more than 1000 settings
        error: /home/repo/windlass.toml:1:1: unknown key `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…"`: known keys here: agents, changes, commit, composites, default_agent, gateway, land, limits, model_list, notify, policy, prices, publish, review, routing, run, sandbox, server, spending, store, tasks, telemetry, tests, worker, workspace
        error: /home/repo/windlass.toml: is larger than 1 MiB, which is too large for a configuration
    "#]].assert_eq(&answers.concat());
}

#[test]
fn unusable_file_is_one_sentence() {
    let file = "home/repo/windlass.toml";
    let device = Harness::new();
    symlink("/dev/zero", device.path(file)).unwrap();
    let nowhere = Harness::new();
    symlink("nowhere", nowhere.path(file)).unwrap();
    let mut missing = Harness::new();
    missing.inputs.file = Some("gone.toml".into());
    let answers = [
        Harness::new().file("home/repo/windlass.toml/x", "").seen(),
        Harness::new().file(file, b"a = 1\n\xff").seen(),
        device.seen(),
        nowhere.seen(),
        missing.seen(),
    ];
    expect![[r#"
        error: /home/repo/windlass.toml: is a directory, expected a file
        error: /home/repo/windlass.toml: line 2 is not UTF-8: save the file as UTF-8
        error: /home/repo/windlass.toml: is not a regular file
        error: /home/repo/windlass.toml: cannot be read: No such file or directory (os error 2)
        error: /home/repo/sub/gone.toml: no such file
    "#]]
    .assert_eq(&answers.concat());
}

#[test]
fn pipe_instead_of_file_does_not_block() {
    use rustix::fs::{CWD, FileType, mknodat};
    let harness = Harness::new();
    let path = harness.path("home/repo/windlass.toml");
    mknodat(CWD, path, FileType::Fifo, 0o600.into(), 0).unwrap();
    harness.check(expect![[r#"
        error: /home/repo/windlass.toml: is not a regular file
    "#]]);
}

#[test]
fn invalid_variable_is_named() {
    let answers = [
        ("WINDLASS__AGENTS__CODEX__MODLE", "x"),
        ("WINDLASS__STOR__URL", "x"),
        ("WINDLASS__", "x"),
        ("WINDLASS__AGENTS____MODEL", "x"),
        ("WINDLASS__LIMITS__TURN_SECS", "soon"),
        ("WINDLASS__LIMITS__TURN_SECS", "-5"),
        ("WINDLASS__AGENTS__A__COMMAND", "qwen --acp"),
        ("WINDLASS_AGENT", "\u{1b}[31m"),
        ("WINDLASS__TESTS__NETWORK", "yes"),
    ]
    .map(|(name, value)| Harness::new().variable(name, value).seen());
    expect![[r#"
        error: environment WINDLASS__AGENTS__CODEX__MODLE: unknown key `agents.codex.modle`: did you mean `agents.codex.model`?
        error: environment WINDLASS__STOR__URL: unknown key `stor`: did you mean `store`?
        error: environment WINDLASS__: unknown key `""`: known keys here: agents, changes, commit, composites, default_agent, gateway, land, limits, model_list, notify, policy, prices, publish, review, routing, run, sandbox, server, spending, store, tasks, telemetry, tests, worker, workspace
        error: environment WINDLASS__AGENTS____MODEL: `agents.""` cannot name an agent: use 1 to 64 letters, digits, `-`, `_` or `.`, a letter or digit first
        error: environment WINDLASS__LIMITS__TURN_SECS: `limits.turn_secs` is text, expected whole seconds from 1 to 604800
        error: environment WINDLASS__LIMITS__TURN_SECS: `limits.turn_secs` is -5, expected whole seconds from 1 to 604800
        error: environment WINDLASS__AGENTS__A__COMMAND: `agents.a.command` is text, expected a list such as ["program", "argument"]
        error: environment WINDLASS_AGENT: `default_agent` is not valid, expected the name of an agent (1 to 64 letters, digits, `-`, `_` or `.`, a letter or digit first), `agent/model` or `composite/profile/<name>`
        tests.network = true  # environment WINDLASS__TESTS__NETWORK
    "#]].assert_eq(&answers.concat());
}

#[test]
fn key_set_by_two_variables_is_an_error() {
    Harness::new()
        .variable("WINDLASS_AGENT", "a")
        .variable("WINDLASS__DEFAULT_AGENT", "b")
        .check(expect![[r#"
            error: environment WINDLASS__DEFAULT_AGENT: `default_agent` is also set at environment WINDLASS_AGENT: keep one of the two
        "#]]);
}

#[test]
fn invalid_dot_env_lines_are_ignored_with_notice() {
    let bad = "WINDLASS__LIMITS__TURN_SECS=5\nwhat\nA-B=1\nC='x' y\nD=\"\\q\"\nE=\"never";
    let answers = [
        Harness::new().dot_env(bad).trusted().seen(),
        Harness::new().dot_env(bad).seen(),
        Harness::new().file("home/repo/.env", b"\xff").seen(),
        Harness::new().file("home/repo/.env/bin/python", "").seen(),
        Harness::new()
            .dot_env("\nWINDLASS__LIMIT__TURN_SECS=5\n")
            .seen(),
    ];
    expect![[r#"
        limits.turn_secs = 5  # /home/repo/.env:1
        notice: /home/repo/.env:2: ignored line: expected NAME=value (and 4 more)
        limits.turn_secs = 5  # /home/repo/.env:1
        notice: /home/repo/.env: line 1 is not UTF-8: save the file as UTF-8; the file is ignored
        error: /home/repo/.env:2: unknown key `limit`: did you mean `limits`?
    "#]]
    .assert_eq(&answers.concat());
}

#[test]
fn every_number_has_bounds() {
    let numbers = KEYS.iter().filter_map(|known| {
        let above = match known.kind {
            ValueKind::Seconds { max } => max + 1,
            ValueKind::Count { max, .. } | ValueKind::Amount { max } => u64::from(max) + 1,
            _ => return None,
        };
        let path = known.path.replace("<name>", "a").replace("<model>", "a");
        let seen = Harness::new().user(&format!("{path} = {above}")).seen();
        Some(seen.replace("error: /home/.config/windlass/windlass.toml:", ""))
    });
    expect![[r#"
        1:25: `agents.a.timeout_secs` is 604801, expected whole seconds from 1 to 604800
        1:22: `agents.a.max_calls` is 10001, expected a whole number from 1 to 10000
        1:27: `agents.a.context_window` is 100000001, expected a whole number from 512 to 100000000
        1:22: `agents.a.max_steps` is 10001, expected a whole number from 1 to 10000
        1:23: `agents.a.max_tokens` is 10000001, expected a whole number from 1 to 10000000
        1:25: `agents.a.token_budget` is 1000000001, expected a whole number from 1 to 1000000000
        1:28: `agents.a.cost_budget_usd` is 100001, expected a number from 0 to 100000
        1:31: `agents.a.input_usd_per_mtok` is 100001, expected a number from 0 to 100000
        1:32: `agents.a.output_usd_per_mtok` is 100001, expected a number from 0 to 100000
        1:24: `agents.a.temperature` is 3, expected a number from 0 to 2
        1:33: `agents.a.request_timeout_secs` is 604801, expected whole seconds from 1 to 604800
        1:24: `agents.a.max_retries` is 101, expected a whole number from 0 to 100
        1:31: `composites.a.cool_down_secs` is 604801, expected whole seconds from 1 to 604800
        1:29: `composites.a.timeout_secs` is 604801, expected whole seconds from 1 to 604800
        1:23: `gateway.concurrency` is 10001, expected a whole number from 1 to 10000
        1:22: `tests.timeout_secs` is 604801, expected whole seconds from 1 to 604800
        1:17: `run.max_steps` is 10001, expected a whole number from 1 to 10000
        1:28: `run.request_timeout_secs` is 604801, expected whole seconds from 1 to 604800
        1:22: `worker.concurrency` is 1001, expected a whole number from 1 to 1000
        1:21: `worker.lease_secs` is 3601, expected whole seconds from 1 to 3600
        1:14: `land.batch` is 101, expected a whole number from 1 to 100
        1:20: `land.max_returns` is 101, expected a whole number from 0 to 100
        1:21: `changes.keep_days` is 36501, expected a whole number from 1 to 36500
        1:22: `changes.keep_count` is 100001, expected a whole number from 1 to 100000
        1:20: `limits.turn_secs` is 604801, expected whole seconds from 1 to 604800
        1:21: `limits.stall_secs` is 604801, expected whole seconds from 1 to 604800
        1:20: `limits.memory_gb` is 100001, expected a number from 0 to 100000
        1:20: `limits.processes` is 4000001, expected a whole number from 1 to 4000000
        1:18: `limits.disk_gb` is 100001, expected a number from 0 to 100000
        1:18: `limits.file_gb` is 100001, expected a number from 0 to 100000
        1:19: `limits.cpu_secs` is 604801, expected whole seconds from 1 to 604800
        1:21: `spending.call_usd` is 1000001, expected a number from 0 to 1000000
        1:24: `spending.attempt_usd` is 1000001, expected a number from 0 to 1000000
        1:21: `spending.task_usd` is 1000001, expected a number from 0 to 1000000
        1:22: `spending.agent_usd` is 1000001, expected a number from 0 to 1000000
        1:24: `spending.project_usd` is 1000001, expected a number from 0 to 1000000
        1:23: `spending.person_usd` is 1000001, expected a number from 0 to 1000000
        1:20: `spending.day_usd` is 1000001, expected a number from 0 to 1000000
        1:18: `prices.a.input` is 100001, expected a number from 0 to 100000
        1:19: `prices.a.output` is 100001, expected a number from 0 to 100000
        1:23: `prices.a.cache_read` is 100001, expected a number from 0 to 100000
        1:24: `prices.a.cache_write` is 100001, expected a number from 0 to 100000
        1:23: `prices.a.max_output` is 10000001, expected a whole number from 1 to 10000000
        1:28: `policy.max_output_tokens` is 10000001, expected a whole number from 1 to 10000000
    "#]]
    .assert_eq(&numbers.collect::<String>());
}
