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
fn refused(name: &str, config: &Value, expect: Expect) {
    let error = registry().create(name, config).unwrap_err();
    expect.assert_eq(&error.to_string());
}

#[test]
fn known_names_are_made_and_listed() {
    assert_eq!(registry().available(), ["codex", "mock"]);
    assert_eq!(
        registry().create("mock", &json!({})).unwrap().name(),
        "mock"
    );
}

#[test]
fn unknown_names_show_the_known_ones() {
    refused(
        "codx",
        &json!({}),
        expect![[r#"no backend is called "codx", did you mean "codex"? (there are: codex, mock)"#]],
    );
    refused(
        "zzz",
        &json!({}),
        expect![[r#"no backend is called "zzz" (there are: codex, mock)"#]],
    );
}

#[test]
fn bad_configuration_names_the_key() {
    refused(
        "mock",
        &json!({"expectations": [{"prompt": "a", "text": 5}]}),
        expect!["expectations[0].text: invalid type: integer `5`, expected a string"],
    );
    refused(
        "mock",
        &json!({"expectations": [{"prompt": "a"}]}),
        expect![
            "expectations[0]: expected exactly one of text (with or without tools), error, events, hang"
        ],
    );
    refused(
        "mock",
        &json!({"expectations": [{"promt": "a"}]}),
        expect![
            "expectations[0].promt: unknown field `promt`, expected one of `prompt`, `text`, `tools`, `error`, `events`, `hang`"
        ],
    );
}

#[test]
fn references_find_an_instance_a_type_and_a_factory() {
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
fn each_bad_reference_has_its_own_error_and_starts_with_the_label() {
    let check = |reference: &str, expect: Expect| {
        let error = registry()
            .load_agent_backend(reference, "planner")
            .unwrap_err();
        expect.assert_eq(&error.to_string());
    };
    check(
        "mock",
        expect![[r#"planner: "mock" is no backend reference: write module:attr or module.attr"#]],
    );
    check(
        "kit..agents:Mock",
        expect![[
            r#"planner: "kit..agents:Mock" is no backend reference: write module:attr or module.attr"#
        ]],
    );
    check(
        ":Mock",
        expect![[r#"planner: ":Mock" is no backend reference: write module:attr or module.attr"#]],
    );
    check(
        "kit.agent:Mock",
        expect![[
            r#"planner: no module is called "kit.agent", did you mean "kit.agents"? (there are: kit.agents)"#
        ]],
    );
    check(
        "kit.agents:Moc",
        expect![[
            r#"planner: in module kit.agents, no attribute is called "Moc", did you mean "Mock"? (there are: Mock, VERSION, made, ready)"#
        ]],
    );
    check(
        "kit.agents:VERSION",
        expect!["planner: kit.agents:VERSION is a text, not an agent backend"],
    );
}
