//! Plain calls: the command, its output, and the errors a caller chose.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_agents::ProgramSettings;
use windlass_agents::invoke::{
    CodexCliBackend, CodingError, CursorCliBackend, PlanningError, cursor_backend_from_settings,
};
use windlass_core::{ErrorCode, SchemaMode, StructuredAgentTask};
use windlass_sandbox::{Host, Sandbox};

use super::stand_in::folder;
use super::world::{Subject, World};

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
async fn cursor_is_called_as_it_always_was() {
    let world = World::new();
    let backend = CursorCliBackend::new(world.context(&[folder()]).await);
    let settings =
        ProgramSettings::from_value(&json!({ "api_key_env": "TEST_KEY", "model": "gpt-5" }))
            .unwrap();
    let done = backend
        .clone()
        .settings(settings)
        .run(&task("hi", SchemaMode::Prompt), world.work())
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

    let free = backend
        .settings(with_key())
        .force(false)
        .output_format(None);
    let done = free
        .run(&task("hi", SchemaMode::None), world.work())
        .await
        .unwrap();
    assert_eq!(done.command, ["cursor-agent", "-p"]);
}

#[tokio::test]
async fn silence_is_an_answer_and_failure_is_not() {
    let world = World::new();
    let backend = CursorCliBackend::new(world.context(&[folder()]).await).settings(with_key());
    let silent = backend
        .run(&task("silence", SchemaMode::None), world.work())
        .await
        .unwrap();
    assert_eq!((silent.stdout.as_str(), silent.stderr.as_str()), ("", ""));

    let coder = CursorCliBackend::new(world.context(&[folder()]).await).errors_as::<CodingError>();
    let failed = coder
        .run(&task("hi", SchemaMode::None), world.work())
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
async fn time_runs_out_for_a_plain_call_too() {
    let world = World::new();
    let settings =
        ProgramSettings::from_value(&json!({ "api_key_env": "TEST_KEY", "timeout_seconds": 2 }))
            .unwrap();
    let backend = CursorCliBackend::new(world.context(&[folder()]).await)
        .settings(settings)
        .output_format(Some("stream-json"))
        .errors_as::<PlanningError>();
    let failed = backend
        .run(&task("wait", SchemaMode::None), world.work())
        .await
        .unwrap_err();
    assert_eq!(failed.0.code, ErrorCode::Timeout, "{failed}");
    assert!(world.is_left().await);
}

#[tokio::test]
async fn the_folder_must_be_in_a_work_tree() {
    let world = World::new();
    let backend = CursorCliBackend::new(world.context(&[folder()]).await).settings(with_key());
    let task = task("hi", SchemaMode::None);
    let nowhere = backend.run(&task, "~/nowhere").await.unwrap_err();
    assert!(nowhere.problem.contains("does not exist"), "{nowhere}");
    assert_eq!(nowhere.invocation, None);
}

#[tokio::test]
async fn the_model_of_a_deployment_is_taken_from_its_variable() {
    let world = World::new();
    let home = world.home();
    let path = format!("{}:/usr/bin:/bin", folder().display());
    let variables = BTreeMap::from([
        ("HOME", home.to_str().unwrap()),
        ("PATH", path.as_str()),
        ("CURSOR_API_KEY", "dummy"),
    ]);
    for (named, model) in [
        (None, "gpt-5.1-codex-max-high"),
        (Some("composer-2.5"), "composer-2.5"),
    ] {
        let extra = named.map(|name| ("WORKER_CURSOR_MODEL", name));
        let host = Host::new(variables.clone().into_iter().chain(extra));
        let context =
            windlass_agents::AgentContext::new(Sandbox::detect(host).await.unwrap(), world.state());
        let done = cursor_backend_from_settings(context)
            .run(&task("hi", SchemaMode::None), world.work())
            .await
            .unwrap();
        assert_eq!(done.command[2], format!("--model={model}"));
    }
}

mod real {
    use super::*;

    #[tokio::test]
    async fn real_codex_is_told_the_schema_that_is_meant() {
        let answer = json!({ "answer": [{ "text": "{}" }], "or_more": true });
        let subject = Subject::new("codex", "exec", json!({ "turns": [answer] })).await;
        let settings = ProgramSettings::from_value(&subject.config("deny")).unwrap();
        let backend = CodexCliBackend::new(subject.context.clone())
            .settings(settings)
            .full_auto(true);
        let given = subject.world.work().join("given.json");

        let argument = |command: &[String]| {
            let found = command
                .iter()
                .find_map(|word| word.strip_prefix("--output-schema="));
            found.map(str::to_owned)
        };
        let work = subject.world.work();
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
            "the schema's file is still there"
        );

        let missing = backend.clone().schema_override(&given);
        let done = missing
            .run(&task("Plan it", SchemaMode::Native), &work)
            .await
            .unwrap();
        assert!(
            argument(&done.command)
                .unwrap()
                .contains("windlass-schema-")
        );
        std::fs::write(
            &given,
            "{\"type\": \"object\", \"properties\": {}, \"additionalProperties\": false}",
        )
        .unwrap();
        let done = missing
            .run(&task("Plan it", SchemaMode::Native), &work)
            .await
            .unwrap();
        assert_eq!(argument(&done.command).unwrap(), given.to_str().unwrap());
        let done = missing
            .run(&task("Plan it", SchemaMode::Prompt), &work)
            .await
            .unwrap();
        assert_eq!(argument(&done.command), None);
    }
}
