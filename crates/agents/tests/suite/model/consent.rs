//! Tools that need somebody's consent.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use windlass_core::permission::{PermissionRule, SessionApprover};
use windlass_core::{AgentEvent, Approver, PermissionPolicy, PermissionRequest, SessionOptions};

use super::world::{Api, Desk, end, scripted, tools};

#[derive(Debug)]
struct Person {
    answers: Mutex<Vec<Option<&'static str>>>,
    asked: Mutex<Vec<PermissionRequest>>,
}

impl Approver for Person {
    fn decide(&self, ask: PermissionRequest) -> BoxFuture<'_, Option<String>> {
        self.asked.lock().unwrap().push(ask);
        let answer = self.answers.lock().unwrap().remove(0);
        Box::pin(async move { answer.map(str::to_owned) })
    }
}

fn person(answers: Vec<Option<&'static str>>) -> Arc<Person> {
    Arc::new(Person {
        answers: Mutex::new(answers),
        asked: Mutex::default(),
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

async fn turn(policy: PermissionPolicy, approver: Option<Arc<Person>>) -> (Desk, Vec<AgentEvent>) {
    let model = scripted(writes()).await;
    let desk = Desk::new(Api::Chat, &model.url(), json!({ "permissions": null })).await;
    let options = SessionOptions {
        permissions: policy,
        approver: SessionApprover(approver.map(|person| person as Arc<dyn Approver>)),
        ..desk.options()
    };
    let handle = desk.handle();
    let session = handle.new_session(options).await.unwrap();
    let events = handle
        .prompt(&session, "Write.")
        .await
        .unwrap()
        .collect()
        .await;
    assert_eq!(end(&events), "Tried.");
    (desk, events)
}

fn succeeded(events: &[AgentEvent]) -> Vec<bool> {
    tools(events)
        .into_iter()
        .map(|(_, success)| success)
        .collect()
}

#[tokio::test]
async fn a_policy_that_denies_lets_tools_look_and_nothing_else() {
    let (desk, events) = turn(PermissionPolicy::Deny, None).await;
    assert_eq!(succeeded(&events), [true, false, false]);
    assert_eq!(desk.world.read("notes.txt"), "one\ntwo\n");
}

#[tokio::test]
async fn a_policy_that_allows_asks_nobody() {
    let (desk, events) = turn(PermissionPolicy::Allow, None).await;
    assert_eq!(succeeded(&events), [true, true, true]);
    assert_eq!(desk.world.read("notes.txt"), "second");
}

#[tokio::test]
async fn a_person_decides_each_time() {
    let person = person(vec![Some("allow_once"), Some("reject_once")]);
    let (desk, events) = turn(PermissionPolicy::Ask, Some(Arc::clone(&person))).await;
    assert_eq!(succeeded(&events), [true, true, false]);
    assert_eq!(desk.world.read("notes.txt"), "first");
    let asked = person.asked.lock().unwrap();
    assert_eq!(asked.len(), 2);
    assert_eq!(
        (asked[0].tool.as_str(), asked[0].agent.as_str()),
        ("fs_write", "openai")
    );
    assert_eq!(asked[0].input["content"], "first");
    let told = events
        .iter()
        .filter(|event| matches!(event, AgentEvent::PermissionRequest { .. }));
    assert_eq!(told.count(), 2);
}

#[tokio::test]
async fn a_person_decides_once_for_the_session() {
    let person = person(vec![Some("allow_always")]);
    let (desk, events) = turn(PermissionPolicy::Ask, Some(Arc::clone(&person))).await;
    assert_eq!(succeeded(&events), [true, true, true]);
    assert_eq!(desk.world.read("notes.txt"), "second");
    assert_eq!(person.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn without_anybody_to_ask_the_answer_is_no() {
    for approver in [None, Some(person(vec![None, Some("no such option")]))] {
        let (desk, events) = turn(PermissionPolicy::Ask, approver).await;
        assert_eq!(succeeded(&events), [true, false, false]);
        assert_eq!(desk.world.read("notes.txt"), "one\ntwo\n");
    }
}

/// A place that a rule closes stays closed, by whichever tool it is reached.
#[tokio::test]
async fn a_rule_for_a_place_holds_for_patches_too() {
    let patch = "*** Begin Patch\n*** Add File: free.txt\n+x\n*** Add File: closed/x.txt\n+x\n*** End Patch";
    let model = scripted(json!([
        { "answer": [{ "call": { "name": "apply_patch", "arguments": { "patch": patch } } }] },
        { "answer": [{ "text": "Tried." }] },
    ]))
    .await;
    let desk = Desk::new(Api::Chat, &model.url(), json!({ "permissions": null })).await;
    let options = SessionOptions {
        permissions: PermissionPolicy::Allow,
        permission_rules: vec![PermissionRule::new(PermissionPolicy::Deny).path("closed")],
        ..desk.options()
    };
    let handle = desk.handle();
    let session = handle.new_session(options).await.unwrap();
    let turn = handle.prompt(&session, "Write.").await.unwrap();
    assert_eq!(succeeded(&turn.collect().await), [false]);
}

/// As for every other agent, an answer given in advance may have exceptions.
#[tokio::test]
async fn settings_may_name_exceptions() {
    for (path, written) in [("notes.txt", "second"), ("src", "one\ntwo\n")] {
        let model = scripted(writes()).await;
        let rule = json!({ "kind": "write", "path": path, "answer": "allow" });
        let permissions = json!({ "default": "deny", "rules": [rule] });
        let desk = Desk::new(
            Api::Ollama,
            &model.url(),
            json!({ "permissions": permissions }),
        )
        .await;
        let handle = desk.handle();
        let session = handle.new_session(desk.options()).await.unwrap();
        let turn = handle.prompt(&session, "Write.").await.unwrap();
        assert_eq!(end(&turn.collect().await), "Tried.");
        assert_eq!(desk.world.read("notes.txt"), written, "{path}");
    }
}
