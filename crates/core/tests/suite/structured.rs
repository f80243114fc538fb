//! Structured calls on agents with valid, invalid and missing answers.

use serde_json::{Value, json};
use windlass_core::structured::{
    self, CallOptions, Error, StructuredAnswer, StructuredErrorKind, Validation, ValidationPolicy,
};
use windlass_core::{
    AgentEvent, AgentHandle, ErrorCode, SchemaMode, SessionOptions, StructuredAgentTask, Usage,
};
use windlass_testkit::MockAgent;

use super::structured_native::Native;

pub(crate) fn task(schema_mode: SchemaMode) -> StructuredAgentTask {
    StructuredAgentTask {
        name: "person".to_owned(),
        prompt: "Who is Ada?".to_owned(),
        schema: Some(json!({
            "type": "object",
            "properties": { "name": { "type": "string" }, "age": { "type": "integer" } },
            "required": ["name", "age"],
            "additionalProperties": false,
        })),
        schema_mode,
    }
}

async fn call(agent: MockAgent, task: StructuredAgentTask) -> Result<StructuredAnswer, Error> {
    let agent = AgentHandle::wrap(agent);
    structured::call(&agent, None, task, CallOptions::default()).await
}

fn answer(text: &str, tokens: u64) -> Vec<AgentEvent> {
    let usage = Usage {
        input_tokens: tokens,
        ..Usage::default()
    };
    vec![AgentEvent::Result {
        text: text.to_owned(),
        usage: Some(usage),
        metadata: Value::Null,
    }]
}

#[tokio::test]
async fn invalid_answer_is_corrected_and_usage_adds_up() {
    let mock = MockAgent::new()
        .on_prompt("\"required\":[\"name\",\"age\"]")
        .respond_with(answer(r#"{"name": "Ada", "age": "36", "x": 1}"#, 10))
        .on_prompt("at /age")
        .respond_with(answer("Sorry! {\"name\": \"Ada\", \"age\": 36,}", 5));
    let probe = mock.probe();
    let found = call(mock, task(SchemaMode::Prompt)).await.unwrap();
    assert_eq!(found.value, json!({ "name": "Ada", "age": 36 }));
    assert_eq!(found.rounds, 2);
    assert_eq!(found.usage.unwrap().input_tokens, 15);
    assert_eq!(found.text, "Sorry! {\"name\": \"Ada\", \"age\": 36,}");
    let prompts = probe.prompts();
    assert!(prompts[0].starts_with("Who is Ada?\n\nAnswer with one JSON value"));
    assert!(
        prompts[1].contains("at the top: Additional properties"),
        "{}",
        prompts[1]
    );
}

#[tokio::test]
async fn exhausted_rounds_return_the_last_error() {
    let mock = MockAgent::new()
        .on_prompt("Ada")
        .respond_with(answer("I do not know.", 1))
        .on_prompt("no JSON")
        .respond_with(answer("{\"name\": \"Ada\"} {}", 1))
        .on_prompt("exactly one")
        .respond_with(answer("{\"name\": \"Ada\"}", 1));
    let probe = mock.probe();
    let error = call(mock, task(SchemaMode::Prompt)).await.unwrap_err();
    probe.verify().unwrap();
    assert_eq!(
        error.to_string(),
        r#"person: the answer does not match the schema: at the top: "age" is a required property (asked 3 times)"#
    );
    assert_eq!(error.code(), ErrorCode::BackendError);
    assert_eq!(error.usage.unwrap().input_tokens, 3);
}

#[tokio::test]
async fn agent_error_keeps_its_code() {
    let mock = MockAgent::new()
        .on_prompt("")
        .respond_text("hm")
        .on_prompt("")
        .respond_error(ErrorCode::RateLimited, "try later");
    let error = call(mock, task(SchemaMode::Prompt)).await.unwrap_err();
    assert_eq!((error.code(), error.rounds), (ErrorCode::RateLimited, 2));
    assert_eq!(error.kind.to_string(), "try later");
}

#[tokio::test]
async fn invalid_schema_is_rejected_before_prompting() {
    let mock = MockAgent::new();
    let probe = mock.probe();
    let mut task = task(SchemaMode::Prompt);
    task.schema = Some(json!({ "$ref": "https://example.com/schema.json" }));
    let error = call(mock, task).await.unwrap_err();
    let StructuredErrorKind::Agent(windlass_core::Error::InvalidInput(problem)) = &*error.kind
    else {
        panic!("{error:?}");
    };
    assert!(problem.contains("example.com"), "{problem}");
    assert_eq!((error.rounds, probe.prompts().len()), (0, 0));
}

#[tokio::test]
async fn policy_sets_strictness_and_rounds() {
    let call_with = async |validation, text: &str| {
        let agent = AgentHandle::wrap(MockAgent::new().on_prompt("").respond_text(text));
        let options = CallOptions {
            rules: ValidationPolicy {
                validation,
                rounds: 1,
            },
            ..CallOptions::default()
        };
        let found = structured::call(&agent, None, task(SchemaMode::Prompt), options).await;
        found.map(|found| found.value).map_err(|error| error.rounds)
    };
    let extra = r#"{"name": "Ada", "age": 36, "x": 1}"#;
    assert_eq!(call_with(Validation::Strict, extra).await, Err(1));
    assert!(call_with(Validation::Lenient, extra).await.is_ok());
    assert_eq!(call_with(Validation::Lenient, "[]").await, Err(1));
    assert_eq!(call_with(Validation::None, "[]").await, Ok(json!([])));
    assert_eq!(call_with(Validation::None, "no").await, Err(1));
}

#[tokio::test]
async fn rounds_stay_in_the_given_session() {
    let agent = AgentHandle::wrap(
        MockAgent::new()
            .on_prompt("remember")
            .respond_text("yes")
            .on_prompt("Who")
            .respond_text("?")
            .on_prompt("not accepted")
            .respond_text(r#"{"name": "Ada", "age": 36}"#),
    );
    let session = agent.new_session(SessionOptions::default()).await.unwrap();
    agent
        .prompt(&session, "remember")
        .await
        .unwrap()
        .collect()
        .await;
    let found = structured::call(
        &agent,
        Some(&session),
        task(SchemaMode::Prompt),
        CallOptions::default(),
    );
    assert_eq!(found.await.unwrap().rounds, 2);
    let next = agent.new_session(SessionOptions::default()).await.unwrap();
    assert_eq!(next.as_str(), "mock-2", "no other session was started");
}

#[tokio::test]
async fn native_agent_receives_schema_and_its_value_is_used() {
    for key in ["structured_output", "structured_result"] {
        let native = Native::answering("Done.", json!({ key: { "name": "Ada", "age": 36 } }));
        let seen = native.seen.clone();
        let agent = AgentHandle::wrap(native);
        let found = structured::call(
            &agent,
            None,
            task(SchemaMode::Native),
            CallOptions::default(),
        );
        assert_eq!(
            found.await.unwrap().value,
            json!({ "name": "Ada", "age": 36 })
        );
        let seen = seen.lock().unwrap();
        assert_eq!(seen.schema, task(SchemaMode::Native).schema);
        assert_eq!(seen.prompts, ["Who is Ada?"], "the task alone");
    }
}

#[tokio::test]
async fn native_agent_ignoring_the_schema_is_rejected() {
    let ignoring = [
        Native::answering("Ada was a mathematician.", Value::Null),
        Native::answering(r#"{"name": "Ada"}"#, Value::Null),
        Native::answering("", json!({ "structured_output": { "name": "Ada" } })),
    ];
    for native in ignoring {
        let seen = native.seen.clone();
        let agent = AgentHandle::wrap(native);
        let found = structured::call(
            &agent,
            None,
            task(SchemaMode::Native),
            CallOptions::default(),
        );
        assert_eq!(found.await.unwrap_err().rounds, 3);
        let correction = seen.lock().unwrap().prompts[1].clone();
        assert!(
            correction.contains("matches the JSON schema {"),
            "{correction}"
        );
    }
}

#[tokio::test]
async fn schema_is_not_sent_in_mode_none() {
    let native = Native::answering("{}", Value::Null);
    let seen = native.seen.clone();
    let agent = AgentHandle::wrap(native);
    let found = structured::call(&agent, None, task(SchemaMode::None), CallOptions::default());
    assert!(matches!(
        *found.await.unwrap_err().kind,
        StructuredErrorKind::SchemaViolations(_)
    ));
    let seen = seen.lock().unwrap();
    assert_eq!(seen.schema, None);
    assert!(
        seen.prompts
            .iter()
            .all(|prompt| !prompt.contains("additionalProperties"))
    );
}

#[tokio::test]
async fn large_answer_is_complete_or_rejected() {
    let name = "Ada ".repeat(100_000);
    let json = json!({ "name": name, "age": 36 });
    // The result is truncated, but the streamed text is not.
    let mock = MockAgent::new()
        .on_prompt("")
        .respond_text(&json.to_string());
    assert_eq!(
        call(mock, task(SchemaMode::Prompt)).await.unwrap().value,
        json
    );

    let truncated = [
        Native::answering("", json!({ "structured_output": json })),
        Native::answering(&json.to_string(), Value::Null),
    ];
    for native in truncated {
        let agent = AgentHandle::wrap(native);
        let found = structured::call(
            &agent,
            None,
            task(SchemaMode::Native),
            CallOptions::default(),
        );
        let error = found.await.unwrap_err();
        assert_eq!(
            (error.code(), error.rounds),
            (ErrorCode::OutputLimit, 1),
            "{error}"
        );
    }
}

#[tokio::test]
async fn rounds_follow_session_change() {
    let moved = AgentEvent::SessionChanged {
        new_session_id: "elsewhere".to_owned(),
    };
    let mock = MockAgent::new()
        .on_prompt("")
        .respond_with(vec![moved, AgentEvent::result("?")]);
    let error = call(mock, task(SchemaMode::Prompt)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::SessionOrphaned);
    assert!(
        error.to_string().contains("session elsewhere is not known"),
        "{error}"
    );
}
