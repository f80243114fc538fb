//! Backends by name and by reference.

use std::path::Path;

use expect_test::{Expect, expect};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use windlass_core::registry::Export;
use windlass_core::structured::InvocationFailure;
use windlass_core::{
    AgentHandle, AgentInvocation, AgentRegistry, InvocationBackend, SchemaMode, StructuredAgentTask,
};
use windlass_testkit::MockAgent;

fn registry() -> AgentRegistry {
    let ready = AgentHandle::wrap(MockAgent::new());
    AgentRegistry::new()
        .register("mock", MockAgent::factory())
        .register("codex", MockAgent::factory())
        .export("kit.agents", "Mock", Export::of::<MockAgent>())
        .export("kit.agents", "ready", Export::Instance(ready))
        .export(
            "kit.agents",
            "made",
            Export::factory(|| Ok(AgentHandle::wrap(MockAgent::new()))),
        )
        .export("kit.agents", "VERSION", Export::Other("a text"))
}

#[track_caller]
fn assert_error(name: &str, config: &Value, expect: Expect) {
    let error = registry().create(name, config).unwrap_err();
    expect.assert_eq(&error.to_string());
}

#[test]
fn known_names_are_created_and_listed() {
    assert_eq!(registry().available(), ["codex", "mock"]);
    assert_eq!(
        registry().create("mock", &json!({})).unwrap().name(),
        "mock"
    );
}

#[test]
fn unknown_name_error_lists_known_names() {
    assert_error(
        "codx",
        &json!({}),
        expect![[r#"unknown backend "codx", did you mean "codex"? (available: codex, mock)"#]],
    );
    assert_error(
        "zzz",
        &json!({}),
        expect![[r#"unknown backend "zzz" (available: codex, mock)"#]],
    );
}

#[test]
fn invalid_configuration_error_names_the_key() {
    assert_error(
        "mock",
        &json!({"expectations": [{"prompt": "a", "text": 5}]}),
        expect!["expectations[0].text: invalid type: integer `5`, expected a string"],
    );
    assert_error(
        "mock",
        &json!({"expectations": [{"prompt": "a"}]}),
        expect![
            "expectations[0]: expected exactly one of text (with or without tools), error, events, hang"
        ],
    );
    assert_error(
        "mock",
        &json!({"expectations": [{"promt": "a"}]}),
        expect![
            "expectations[0].promt: unknown field `promt`, expected one of `prompt`, `text`, `tools`, `error`, `events`, `hang`"
        ],
    );
}

#[test]
fn references_resolve_instance_type_and_factory() {
    let registry = registry();
    for reference in [
        "kit.agents:Mock",
        "kit.agents.Mock",
        "kit.agents:ready",
        "kit.agents.made",
    ] {
        let agent = registry.load_agent_backend(reference, "planner").unwrap();
        assert_eq!(agent.name(), "mock", "{reference}");
    }
    assert_eq!(
        registry
            .create("kit.agents:Mock", &Value::Null)
            .unwrap()
            .name(),
        "mock"
    );
}

#[test]
fn each_invalid_reference_has_its_own_error_with_the_label() {
    let check = |reference: &str, expect: Expect| {
        let error = registry()
            .load_agent_backend(reference, "planner")
            .unwrap_err();
        expect.assert_eq(&error.to_string());
    };
    check(
        "mock",
        expect![[
            r#"planner: "mock" is not a backend reference: write module:attr or module.attr"#
        ]],
    );
    check(
        "kit..agents:Mock",
        expect![[
            r#"planner: "kit..agents:Mock" is not a backend reference: write module:attr or module.attr"#
        ]],
    );
    check(
        ":Mock",
        expect![[
            r#"planner: ":Mock" is not a backend reference: write module:attr or module.attr"#
        ]],
    );
    check(
        "kit.agent:Mock",
        expect![[
            r#"planner: unknown module "kit.agent", did you mean "kit.agents"? (available: kit.agents)"#
        ]],
    );
    check(
        "kit.agents:Moc",
        expect![[
            r#"planner: in module kit.agents, unknown attribute "Moc", did you mean "Mock"? (available: Mock, VERSION, made, ready)"#
        ]],
    );
    check(
        "kit.agents:VERSION",
        expect!["planner: kit.agents:VERSION is a text, not an agent backend"],
    );
}

/// Returns the directory and the prompt as its output.
#[derive(Default)]
struct Echo;

impl InvocationBackend for Echo {
    fn run<'a>(
        &'a self,
        task: &'a StructuredAgentTask,
        working_dir: &'a Path,
    ) -> BoxFuture<'a, Result<AgentInvocation, InvocationFailure>> {
        Box::pin(async move {
            if working_dir.is_relative() {
                return Err(format!("{} is not absolute", working_dir.display()).into());
            }
            Ok(AgentInvocation {
                stdout: format!("{}: {}", working_dir.display(), task.prompt),
                ..AgentInvocation::default()
            })
        })
    }
}

#[tokio::test]
async fn invocation_backends_resolve_as_instance_type_and_factory() {
    let registry = registry()
        .export("kit.runs", "ready", Export::invocation(Echo))
        .export("kit.runs", "Echo", Export::invocation_of::<Echo>())
        .export("kit.runs", "made", Export::invocation_factory(|| Ok(Echo)));
    let task = StructuredAgentTask {
        name: "plan".to_owned(),
        prompt: "hi".to_owned(),
        schema: None,
        schema_mode: SchemaMode::None,
    };
    for reference in ["kit.runs:ready", "kit.runs.Echo", "kit.runs:made"] {
        let backend = registry
            .load_invocation_backend(reference, "coder")
            .unwrap();
        let done = backend.run(&task, Path::new("/work")).await.unwrap();
        assert_eq!(done.stdout, "/work: hi", "{reference}");
        let failed = backend.run(&task, Path::new("work")).await.unwrap_err();
        assert_eq!(failed.to_string(), "work is not absolute");
    }

    let error = |reference: &str| {
        let loaded = registry.load_invocation_backend(reference, "coder");
        loaded.err().unwrap().to_string()
    };
    assert_eq!(
        error("kit.agents:Mock"),
        "coder: kit.agents:Mock is an agent backend with sessions, which has no run(task, working_dir)"
    );
    assert_eq!(
        error("kit.agents:VERSION"),
        "coder: kit.agents:VERSION is a text, which has no run(task, working_dir)"
    );
    assert!(error("kit.run:Echo").contains("unknown module"));
    let as_agent = registry.load_agent_backend("kit.runs:Echo", "coder");
    assert_eq!(
        as_agent.unwrap_err().to_string(),
        "coder: kit.runs:Echo is an invocation backend without sessions, not an agent backend"
    );
}
