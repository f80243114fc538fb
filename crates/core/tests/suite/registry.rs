//! Backends by name and by reference.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use windlass_core::registry::Export;
use windlass_core::{AgentHandle, AgentRegistry};
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
