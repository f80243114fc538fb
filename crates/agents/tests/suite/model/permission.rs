//! Permissions of tools.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use windlass_core::permission::{PermissionRule, SessionApprover};
use windlass_core::{AgentEvent, Approver, PermissionPolicy, PermissionRequest, SessionOptions};

use super::harness::{Api, ModelFixture, end, scripted, tools};

/// An approver that returns prepared answers and records the requests.
#[derive(Debug)]
struct TestApprover {
    answers: Mutex<Vec<Option<&'static str>>>,
    recorded: Mutex<Vec<PermissionRequest>>,
}

impl Approver for TestApprover {
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Option<String>> {
        self.recorded.lock().unwrap().push(request);
        let answer = self.answers.lock().unwrap().remove(0);
        Box::pin(async move { answer.map(str::to_owned) })
    }
}

fn approver(answers: Vec<Option<&'static str>>) -> Arc<TestApprover> {
    Arc::new(TestApprover {
        answers: Mutex::new(answers),
        recorded: Mutex::default(),
    })
}

fn writes() -> Value {
    let write = |text: &str| json!({ "answer": [{ "write_file": { "path": "notes.txt", "content": text } }] });
    json!([
        { "answer": [{ "read_file": { "path": "notes.txt" } }] },
        write("first"),
        write("second"),
        { "answer": [{ "text": "Tried." }] },
    ])
}

async fn turn(
    policy: PermissionPolicy,
    approver: Option<Arc<TestApprover>>,
) -> (ModelFixture, Vec<AgentEvent>) {
    let model = scripted(writes()).await;
    let fixture = ModelFixture::new(Api::Chat, &model.url(), json!({ "permissions": null })).await;
    let options = SessionOptions {
        permissions: policy,
        approver: SessionApprover(approver.map(|approver| approver as Arc<dyn Approver>)),
        ..fixture.options()
    };
    let handle = fixture.handle();
    let session = handle.new_session(options).await.unwrap();
    let events = handle
        .prompt(&session, "Write.")
        .await
        .unwrap()
        .collect()
        .await;
    assert_eq!(end(&events), "Tried.");
    (fixture, events)
}

fn succeeded(events: &[AgentEvent]) -> Vec<bool> {
    tools(events)
        .into_iter()
        .map(|(_, success)| success)
        .collect()
}

#[tokio::test]
async fn deny_policy_allows_only_read_only_tools() {
    let (fixture, events) = turn(PermissionPolicy::Deny, None).await;
    assert_eq!(succeeded(&events), [true, false, false]);
    assert_eq!(fixture.harness.read("notes.txt"), "one\ntwo\n");
}

#[tokio::test]
async fn allow_policy_does_not_ask() {
    let (fixture, events) = turn(PermissionPolicy::Allow, None).await;
    assert_eq!(succeeded(&events), [true, true, true]);
    assert_eq!(fixture.harness.read("notes.txt"), "second");
}

#[tokio::test]
async fn approver_decides_each_call() {
    let approver = approver(vec![Some("allow_once"), Some("reject_once")]);
    let (fixture, events) = turn(PermissionPolicy::Ask, Some(Arc::clone(&approver))).await;
    assert_eq!(succeeded(&events), [true, true, false]);
    assert_eq!(fixture.harness.read("notes.txt"), "first");
    let recorded = approver.recorded.lock().unwrap();
    assert_eq!(recorded.len(), 2);
    assert_eq!(
        (recorded[0].tool.as_str(), recorded[0].agent.as_str()),
        ("fs_write", "openai")
    );
    assert_eq!(recorded[0].input["content"], "first");
    let emitted = events
        .iter()
        .filter(|event| matches!(event, AgentEvent::PermissionRequest { .. }));
    assert_eq!(emitted.count(), 2);
}

#[tokio::test]
async fn allow_always_lasts_for_the_session() {
    let approver = approver(vec![Some("allow_always")]);
    let (fixture, events) = turn(PermissionPolicy::Ask, Some(Arc::clone(&approver))).await;
    assert_eq!(succeeded(&events), [true, true, true]);
    assert_eq!(fixture.harness.read("notes.txt"), "second");
    assert_eq!(approver.recorded.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn missing_approver_or_invalid_answer_denies() {
    for approver in [None, Some(approver(vec![None, Some("no such option")]))] {
        let (fixture, events) = turn(PermissionPolicy::Ask, approver).await;
        assert_eq!(succeeded(&events), [true, false, false]);
        assert_eq!(fixture.harness.read("notes.txt"), "one\ntwo\n");
    }
}

/// A path rule applies to every tool that accesses the path.
#[tokio::test]
async fn path_rule_applies_to_patches() {
    let patch = "*** Begin Patch\n*** Add File: free.txt\n+x\n*** Add File: closed/x.txt\n+x\n*** End Patch";
    let model = scripted(json!([
        { "answer": [{ "call": { "name": "apply_patch", "arguments": { "patch": patch } } }] },
        { "answer": [{ "text": "Tried." }] },
    ]))
    .await;
    let fixture = ModelFixture::new(Api::Chat, &model.url(), json!({ "permissions": null })).await;
    let options = SessionOptions {
        permissions: PermissionPolicy::Allow,
        permission_rules: vec![PermissionRule::new(PermissionPolicy::Deny).path("closed")],
        ..fixture.options()
    };
    let handle = fixture.handle();
    let session = handle.new_session(options).await.unwrap();
    let turn = handle.prompt(&session, "Write.").await.unwrap();
    assert_eq!(succeeded(&turn.collect().await), [false]);
}

/// The configured permissions may have rules that override the default.
#[tokio::test]
async fn configured_rules_override_the_default() {
    for (path, written) in [("notes.txt", "second"), ("src", "one\ntwo\n")] {
        let model = scripted(writes()).await;
        let rule = json!({ "kind": "write", "path": path, "answer": "allow" });
        let permissions = json!({ "default": "deny", "rules": [rule] });
        let fixture = ModelFixture::new(
            Api::Ollama,
            &model.url(),
            json!({ "permissions": permissions }),
        )
        .await;
        let handle = fixture.handle();
        let session = handle.new_session(fixture.options()).await.unwrap();
        let turn = handle.prompt(&session, "Write.").await.unwrap();
        assert_eq!(end(&turn.collect().await), "Tried.");
        assert_eq!(fixture.harness.read("notes.txt"), written, "{path}");
    }
}
