//! Precedence of the layers, and the origin of each value.

use expect_test::{Expect, expect};
use windlass::config::{Config, Error, TestCommand};

use super::config_harness::Harness;

#[track_caller]
fn check_agents(config: &Config, expect: Expect) {
    let shown = config.all_agents().map(|agent| {
        let table = agent.table();
        format!("{}: {} {table}\n", agent.name, agent.backend)
    });
    expect.assert_eq(&shown.collect::<String>());
}

#[test]
fn later_layer_overrides_earlier_layer() {
    let harness = Harness::new()
        .user("default_agent = 'user'\n[agents.a]\nmodel = 'user'\nbin = 'user'\n[limits]\nturn_secs = 1")
        .project("default_agent = 'project'\n[agents.a]\nmodel = 'project'\n[limits]\nturn_secs = 2\nstall_secs = 9")
        .dot_env("WINDLASS_AGENT=dotenv\nWINDLASS__LIMITS__TURN_SECS=3\nWINDLASS__STORE__URL=sqlite:env\n")
        .variable("WINDLASS_AGENT", "environment")
        .variable("WINDLASS__LIMITS__TURN_SECS", "4")
        .flag("--agent", "default_agent", "flag")
        .trusted();
    harness.check(expect![[r#"
        agents.a.bin = "user"  # /home/.config/windlass/windlass.toml:4:7
        agents.a.model = "project"  # /home/repo/windlass.toml:3:9
        default_agent = "flag"  # --agent
        limits.stall_secs = 9  # /home/repo/windlass.toml:6:14
        limits.turn_secs = 4  # environment WINDLASS__LIMITS__TURN_SECS
        store.url = "sqlite:env"  # /home/repo/.env:3
    "#]]);
}

#[test]
fn explicit_file_replaces_project_file_and_is_trusted() {
    let mut harness = Harness::with_project("default_agent = 'project'\ntests = 'none'")
        .file("home/other.toml", "default_agent = 'given'");
    harness.inputs.file = Some("../../other.toml".into());
    harness.check(expect![[r#"
        default_agent = "given"  # /home/other.toml:1:17
    "#]]);
}

#[test]
fn alternative_key_names_give_same_settings() {
    let harness = Harness::new().user(
        "agent_backend = 'acp'\n[acp]\nagent_binary = 'codex-acp'\ntimeout_secs = 300\n\
         [direct]\nbinary = 'claude'\nsdk_url = 'http://localhost:8080'\ntimeout_seconds = 5",
    );
    let config = harness.load();
    assert_eq!(config.default_agent.as_deref(), Some("acp"));
    check_agents(
        &config,
        expect![[r#"
            acp: acp {"command":["codex-acp"],"timeout_secs":300}
            direct: direct {"bin":"claude","timeout_secs":5,"endpoint":"http://localhost:8080"}
        "#]],
    );
}

#[test]
fn every_value_type_is_passed_to_backend() {
    let harness = Harness::new().user(
        r#"
        [agents.real]
        backend = "claude"
        extra_args = ["--verbose"]
        permissions = { shell = "deny" }
        [agents.real.extra_env]
        PLAIN = ""
        TOKEN = "t0ken"
        [[agents.fake.expectations]]
        prompt = "hello"
        respond_text = "hi"
        "#,
    );
    let config = harness.load();
    check_agents(
        &config,
        expect![[r#"
        fake: fake {"expectations":[{"prompt":"hello","respond_text":"hi"}]}
        real: claude {"extra_args":["--verbose"],"extra_env":{"PLAIN":"","TOKEN":"t0ken"},"permissions":{"shell":"deny"}}
    "#]],
    );
}

#[test]
fn variables_can_set_every_key() {
    let harness = Harness::new()
        .user("[agents.my-agent]\nbackend = 'acp'")
        .variable(
            "WINDLASS__AGENTS__MY_AGENT__COMMAND",
            r#"["qwen", "--acp"]"#,
        )
        .variable("WINDLASS__AGENTS__MY_AGENT__EXTRA_ENV__Mixed__Case", "x")
        .variable("WINDLASS__AGENTS__MY_AGENT__PERMISSIONS", "deny")
        .variable("WINDLASS__ACP__AGENT_BINARY", "codex-acp")
        .variable("WINDLASS__TESTS__NETWORK", "true")
        .variable("WINDLASS__STORE__URL", "")
        .variable("WINDLASS_LOG", "trace");
    harness.check(expect![[r#"
        agents.acp.command = ["codex-acp"]  # environment WINDLASS__ACP__AGENT_BINARY
        agents.my-agent.backend = "acp"  # /home/.config/windlass/windlass.toml:2:11
        agents.my-agent.command = ["qwen","--acp"]  # environment WINDLASS__AGENTS__MY_AGENT__COMMAND
        agents.my-agent.extra_env.Mixed__Case = [redacted]  # environment WINDLASS__AGENTS__MY_AGENT__EXTRA_ENV__Mixed__Case
        agents.my-agent.permissions = "deny"  # environment WINDLASS__AGENTS__MY_AGENT__PERMISSIONS
        tests.network = true  # environment WINDLASS__TESTS__NETWORK
    "#]]);
}

#[test]
fn tests_can_be_disabled_with_none() {
    let harness = Harness::new().user("tests = 'none'");
    assert_eq!(harness.load().tests.command, Some(TestCommand::None));
}

#[test]
fn project_file_is_nearest_within_repository() {
    Harness::new()
        .file("home/windlass.toml", "limits.turn_secs = 1")
        .check(expect![[r#""#]]);
    Harness::new()
        .file("home/windlass.toml", "limits.turn_secs = 1")
        .project("limits.turn_secs = 2")
        .file("home/repo/sub/windlass.toml", "limits.stall_secs = 3")
        .check(expect![[r#"
            limits.stall_secs = 3  # /home/repo/sub/windlass.toml:1:21
        "#]]);
}

#[test]
fn search_without_repository_ends_at_home() {
    let mut harness = Harness::new()
        .file("windlass.toml", "limits.turn_secs = 1")
        .file("home/plain/deep/x", "");
    harness.inputs.cwd = harness.path("home/plain/deep");
    harness.check(expect![[""]]);
    let harness = harness.file("home/windlass.toml", "limits.turn_secs = 2");
    harness.check(expect![[r#"
        limits.turn_secs = 2  # /home/windlass.toml:1:20
    "#]]);
}

#[test]
fn relative_xdg_directory_is_ignored() {
    Harness::with_project("default_agent = 'evil'")
        .file(
            "home/repo/sub/windlass/windlass.toml",
            "default_agent = 'evil'",
        )
        .variable("XDG_CONFIG_HOME", ".")
        .variable("XDG_STATE_HOME", ".")
        .check(expect![[r#"
            notice: /home/repo/windlass.toml is not trusted; ignored keys: default_agent; run: windlass trust
        "#]]);
}

#[test]
fn secret_is_read_from_environment_or_trusted_dot_env() {
    use secrecy::ExposeSecret;
    let harness = Harness::new()
        .dot_env("A=file\nB='file'\nexport C=\"li\\nne\" # why\n# D=no\nE=${HOME} # no\nF=\n")
        .variable("A", "environment")
        .trusted();
    let config = harness.load();
    let secret = |name| Some(config.secret(name)?.expose_secret().to_owned());
    let found = ["A", "B", "C", "D", "E", "F"].map(secret);
    expect![[
        r#"[Some("environment"), Some("file"), Some("li\nne"), None, Some("${HOME}"), None]"#
    ]]
    .assert_eq(&format!("{found:?}"));
}

#[test]
fn p19_displayed_values_contain_no_secret() {
    let harness = Harness::new()
        .user(
            "[agents.a]\nextra_env = { KEY = 'canary' }\nendpoint = 'http://me:canary@host/v1?key=canary'\n\
             [store]\nurl = 'postgres://me:ca/na@ry@host/db'",
        )
        .dot_env("OTHER=canary\n")
        .variable("OPENAI_API_KEY", "canary")
        .trusted();
    let config = harness.load();
    let all = format!(
        "{}{config:?}{:?}{:?}{:?}{}",
        harness.seen(),
        harness.inputs,
        config.agent("a"),
        config.secret("OPENAI_API_KEY"),
        serde_json::to_string(&config.entries()).unwrap()
    );
    assert!(!all.contains("canary") && !all.contains("na@ry"), "{all}");
    harness.check(expect![[r#"
        agents.a.endpoint = "http://[redacted]@host/v1?key=[redacted]"  # /home/.config/windlass/windlass.toml:3:12
        agents.a.extra_env.KEY = [redacted]  # /home/.config/windlass/windlass.toml:2:21
        store.url = "postgres://[redacted]@host/db"  # /home/.config/windlass/windlass.toml:5:7
    "#]]);
}

#[test]
fn unknown_agent_error_suggests_closest_names() {
    let config = Harness::new().user("[agents.codex]\nmodel = 'm'").load();
    let ask = |name, backends| {
        config
            .resolve_agent(name, backends)
            .unwrap_err()
            .to_string()
    };
    expect!["unknown agent `cdoex`: known agents: acp, codex, mock (did you mean `codex`?)"]
        .assert_eq(&ask("cdoex", &["mock", "acp"]));
    assert_eq!(
        config.resolve_agent("mock", &["mock"]).unwrap().backend,
        "mock"
    );
    let empty = Harness::new().load();
    let chosen = config.resolve_agent("mock/some/model", &["mock"]).unwrap();
    assert_eq!(
        (chosen.backend.as_str(), chosen.model.as_deref()),
        ("mock", Some("some/model"))
    );
    assert!(config.resolve_agent("mock/", &["mock"]).is_err());
    let error = empty.resolve_agent("\u{1b}[2J", &[]).unwrap_err();
    expect![[r#"unknown agent `\u{1b}[2J`: none is configured; run: windlass init"#]]
        .assert_eq(&error.to_string());
}

#[test]
fn missing_working_directory_is_one_sentence() {
    let mut harness = Harness::new().file("plain", "");
    for (cwd, expect) in [
        (
            "gone",
            expect![[r#"
        error: /gone: the working directory does not exist
    "#]],
        ),
        (
            "plain",
            expect![[r#"
        error: /plain: is a file, expected a working directory
    "#]],
        ),
    ] {
        harness.inputs.cwd = harness.path(cwd);
        harness.check(expect);
        assert!(matches!(
            Config::load(&harness.inputs),
            Err(Error::File { .. })
        ));
    }
}
