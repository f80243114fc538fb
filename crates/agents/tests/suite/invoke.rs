//! Plain calls: the command line, its output, and the caller's error type.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_agents::invoke::{
    CodexCliBackend, CodingError, CursorCliBackend, PlanningError, cursor_backend_from_settings,
};
use windlass_agents::{ProgramSettings, cli};
use windlass_cassette::Substitutions;
use windlass_core::registry::Export;
use windlass_core::{AgentRegistry, ErrorCode, SchemaMode, SessionOptions, StructuredAgentTask};
use windlass_sandbox::{Host, Sandbox};
use windlass_scripted::{Script, ScriptedModel};

use super::fake_agent::bin_dir;
use super::harness::{Harness, Subject, turn};

fn task(prompt: &str, schema_mode: SchemaMode) -> StructuredAgentTask {
    StructuredAgentTask {
        name: "plan".to_owned(),
        prompt: prompt.to_owned(),
        schema: Some(json!({ "type": "object" })),
        schema_mode,
    }
}

fn with_key() -> ProgramSettings {
    ProgramSettings::from_value(&json!({ "api_key_env": "TEST_KEY" })).unwrap()
}

#[tokio::test]
async fn cursor_command_line_is_stable() {
    let harness = Harness::new();
    let backend = CursorCliBackend::new(harness.context(&[bin_dir()]).await);
    let settings =
        ProgramSettings::from_value(&json!({ "api_key_env": "TEST_KEY", "model": "gpt-5" }))
            .unwrap();
    let done = backend
        .clone()
        .settings(settings)
        .run(&task("hi", SchemaMode::Prompt), harness.work())
        .await
        .unwrap();
    assert_eq!(
        done.command,
        [
            "cursor-agent",
            "-p",
            "--model=gpt-5",
            "--output-format=text",
            "--force"
        ]
    );
    assert_eq!(done.stdout, "You said 'hi' to gpt-5.\n");
    assert!(done.duration.as_nanos() > 0);

    let unforced = backend
        .settings(with_key())
        .force(false)
        .output_format(None);
    let done = unforced
        .run(&task("hi", SchemaMode::None), harness.work())
        .await
        .unwrap();
    assert_eq!(done.command, ["cursor-agent", "-p"]);
}

#[tokio::test]
async fn empty_output_succeeds_and_failure_is_an_error() {
    let harness = Harness::new();
    let backend = CursorCliBackend::new(harness.context(&[bin_dir()]).await).settings(with_key());
    let empty = backend
        .run(&task("no output", SchemaMode::None), harness.work())
        .await
        .unwrap();
    assert_eq!((empty.stdout.as_str(), empty.stderr.as_str()), ("", ""));

    let coder =
        CursorCliBackend::new(harness.context(&[bin_dir()]).await).errors_as::<CodingError>();
    let failed = coder
        .run(&task("hi", SchemaMode::None), harness.work())
        .await
        .unwrap_err();
    assert!(
        failed.to_string().starts_with(
            "coding failed: plan: the agent ended with exit code 1: Error: Authentication"
        ),
        "{failed}"
    );
    assert_eq!(failed.0.code, ErrorCode::AuthFailed);
    assert!(
        failed
            .0
            .invocation
            .unwrap()
            .stderr
            .contains("CURSOR_API_KEY")
    );
}

#[tokio::test]
async fn plain_call_hits_the_timeout() {
    let harness = Harness::new();
    let settings =
        ProgramSettings::from_value(&json!({ "api_key_env": "TEST_KEY", "timeout_seconds": 2 }))
            .unwrap();
    let backend = CursorCliBackend::new(harness.context(&[bin_dir()]).await)
        .settings(settings)
        .output_format(Some("stream-json"))
        .errors_as::<PlanningError>();
    let failed = backend
        .run(&task("wait", SchemaMode::None), harness.work())
        .await
        .unwrap_err();
    assert_eq!(failed.0.code, ErrorCode::Timeout, "{failed}");
    assert!(harness.wait_for_exit().await);
}

#[tokio::test]
async fn missing_working_directory_is_an_error() {
    let harness = Harness::new();
    let backend = CursorCliBackend::new(harness.context(&[bin_dir()]).await).settings(with_key());
    let task = task("hi", SchemaMode::None);
    let error = backend.run(&task, "~/nowhere").await.unwrap_err();
    assert!(error.problem.contains("does not exist"), "{error}");
    assert_eq!(error.invocation, None);
}

#[tokio::test]
async fn backend_loaded_by_reference_runs_a_task_with_its_own_errors() {
    let harness = Harness::new();
    let context = harness.context(&[bin_dir()]).await;
    let without_key = CursorCliBackend::new(context.clone()).errors_as::<CodingError>();
    let registry = AgentRegistry::new()
        .export(
            "cli",
            "cursor",
            Export::invocation_factory(move || {
                Ok(CursorCliBackend::new(context.clone()).settings(with_key()))
            }),
        )
        .export("cli", "signed_out", Export::invocation(without_key));
    let task = task("hi", SchemaMode::Prompt);

    let backend = registry
        .load_invocation_backend("cli:cursor", "coder")
        .unwrap();
    let done = backend.run(&task, &harness.work()).await.unwrap();
    assert!(done.stdout.starts_with("You said 'hi'"), "{}", done.stdout);

    let backend = registry
        .load_invocation_backend("cli.signed_out", "coder")
        .unwrap();
    let failed = backend.run(&task, &harness.work()).await.unwrap_err();
    let failed = failed.downcast::<CodingError>().unwrap();
    assert_eq!(failed.0.code, ErrorCode::AuthFailed);
}

#[tokio::test]
async fn model_is_read_from_the_environment() {
    let harness = Harness::new();
    let home = harness.home();
    let path = format!("{}:/usr/bin:/bin", bin_dir().display());
    let variables = BTreeMap::from([
        ("HOME", home.to_str().unwrap()),
        ("PATH", path.as_str()),
        ("CURSOR_API_KEY", "dummy"),
    ]);
    for (variable, model) in [
        (None, "gpt-5.1-codex-max-high"),
        (Some("composer-2.5"), "composer-2.5"),
    ] {
        let extra = variable.map(|name| ("WORKER_CURSOR_MODEL", name));
        let host = Host::new(variables.clone().into_iter().chain(extra));
        let context = windlass_agents::AgentContext::new(
            Sandbox::detect(host).await.unwrap(),
            harness.state(),
        );
        let done = cursor_backend_from_settings(context)
            .run(&task("hi", SchemaMode::None), harness.work())
            .await
            .unwrap();
        assert_eq!(done.command[2], format!("--model={model}"));
    }
}

mod real {
    use super::*;

    #[tokio::test]
    async fn real_codex_gets_the_selected_schema_file() {
        let answer = json!({ "answer": [{ "text": "{}" }], "or_more": true });
        let subject = Subject::new("codex", "exec", json!({ "turns": [answer] })).await;
        let settings = ProgramSettings::from_value(&subject.config("deny")).unwrap();
        let backend = CodexCliBackend::new(subject.context.clone())
            .settings(settings)
            .full_auto(true);
        let schema_file = subject.harness.work().join("schema.json");

        let argument = |command: &[String]| {
            let value = command
                .iter()
                .find_map(|argument| argument.strip_prefix("--output-schema="));
            value.map(str::to_owned)
        };
        let work = subject.harness.work();
        let native = backend
            .run(&task("Plan it", SchemaMode::Native), &work)
            .await
            .unwrap();
        assert_eq!(native.stdout.trim(), "{}");
        assert!(
            native
                .command
                .contains(&"--sandbox=workspace-write".to_owned()),
            "{:?}",
            native.command
        );
        let file = argument(&native.command).unwrap();
        assert!(
            file.contains("windlass-schema-") && file.ends_with(".json"),
            "{file}"
        );
        assert!(
            !std::path::Path::new(&file).exists(),
            "the schema file still exists"
        );

        let with_override = backend.clone().schema_override(&schema_file);
        let done = with_override
            .run(&task("Plan it", SchemaMode::Native), &work)
            .await
            .unwrap();
        assert!(
            argument(&done.command)
                .unwrap()
                .contains("windlass-schema-")
        );
        std::fs::write(
            &schema_file,
            "{\"type\": \"object\", \"properties\": {}, \"additionalProperties\": false}",
        )
        .unwrap();
        let done = with_override
            .run(&task("Plan it", SchemaMode::Native), &work)
            .await
            .unwrap();
        assert_eq!(
            argument(&done.command).unwrap(),
            schema_file.to_str().unwrap()
        );
        let done = with_override
            .run(&task("Plan it", SchemaMode::Prompt), &work)
            .await
            .unwrap();
        assert_eq!(argument(&done.command), None);
    }

    /// Codex with this `schema_override`, and what its model receives in a turn with a schema.
    async fn turn_with_override(transport: &'static str, file: &str) -> Result<String, String> {
        let answer = json!({ "answer": [{ "text": "{}" }], "or_more": true });
        let script = json!({ "turns": [answer] });
        let mut subject = Subject::new("codex", transport, script.clone()).await;
        let script = Script::parse(&script.to_string(), "test").unwrap();
        let model = ScriptedModel::new(script).recording();
        subject.model = model.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let home = subject.harness.home();
        let strict = r#"{"type":"object","properties":{},"required":[],"additionalProperties":false,"title":"from-the-file"}"#;
        std::fs::write(home.join("strict.json"), strict).unwrap();
        std::fs::write(home.join("broken.json"), "{ no").unwrap();
        let mut config = subject.config("deny");
        config["schema_override"] = file.into();
        let profile = cli::PROFILES.iter().find(|known| known.name() == "codex");
        let handle = cli::factory(profile.unwrap(), subject.context.clone())(&config).unwrap();
        let schema = json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false, "title": "from-the-call" });
        let options = SessionOptions {
            output_schema: Some(schema),
            ..subject.options()
        };
        let session = handle.new_session(options).await;
        let mut session = session.map_err(|error| error.to_string())?;
        turn(&handle, &mut session, "Plan it").await;
        let recorded = subject.model.cassette(&Substitutions::default());
        recorded.unwrap().map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn real_codex_enforces_the_schema_of_the_override_if_it_exists() {
        for transport in ["exec", "app-server"] {
            let sent = turn_with_override(transport, "~/strict.json")
                .await
                .unwrap();
            assert!(sent.contains("from-the-file"), "{transport}: {sent}");
            assert!(!sent.contains("from-the-call"), "{transport}: {sent}");
            let sent = turn_with_override(transport, "~/missing.json")
                .await
                .unwrap();
            assert!(sent.contains("from-the-call"), "{transport}: {sent}");
        }
        let error = turn_with_override("exec", "~/broken.json")
            .await
            .unwrap_err();
        assert!(
            error.starts_with("schema_override: ~/broken.json: is not JSON"),
            "{error}"
        );
    }
}
