//! An account that its provider limits is not asked again before the end, by any process.

use std::sync::Arc;
use std::time::Duration;

use windlass_bridge::{Bridge, CallPolicy, MeterSettings};
use windlass_core::{Masker, SecretString};
use windlass_tasks::{AttemptRef, TaskId};

use super::budget::BrokenStore;
use super::provider::{KEY, Setup, read_response, send, token};

const REQUEST: &[u8] = b"{\"model\":\"m\",\"max_tokens\":100}";
pub(crate) const LIMITED: &str = "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\nretry-after: 3600\r\ncontent-length: 78\r\n\r\n\
    {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow down now\"}}";
const DONE: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

/// The work of the agent.
fn attempt() -> AttemptRef {
    AttemptRef {
        task: TaskId::from(7),
        number: 2,
    }
}

async fn limited_setup() -> Setup {
    let mut setup = Setup::new(Vec::new()).await;
    let access = setup.open();
    let agent = send(&access, &token(&access), "POST /messages", REQUEST).await;
    setup.next().await.answer(LIMITED).await;
    let (head, body) = read_response(agent).await;
    // The provider's own answer passes.
    assert!(head.starts_with("HTTP/1.1 429"), "{head}");
    assert!(body.contains("slow down now"), "{body}");
    let head = head.to_ascii_lowercase();
    assert!(!head.contains("retry-after"), "{head}");
    setup
}

#[tokio::test]
async fn limited_account_is_refused_without_asking_the_provider() {
    let mut setup = limited_setup().await;
    let access = setup.open();
    let agent = send(&access, &token(&access), "POST /messages", REQUEST).await;
    let (head, body) = read_response(agent).await;
    assert!(head.starts_with("HTTP/1.1 429"), "{head}");
    let head = head.to_ascii_lowercase();
    assert!(head.contains("x-should-retry: false"), "{head}");
    // Some agents would sleep for so long.
    assert!(!head.contains("retry-after"), "{head}");
    assert!(body.contains("rate_limit_error"), "{body}");
    assert!(body.contains("slow down now"), "{body}");
    assert!(setup.requests.try_recv().is_err(), "the provider was asked");
    // A refused call was not sent, so it does not count.
    assert_eq!(setup.totals().await[0].calls, 1);
    let limit = setup.store.calls.attempt_limit(attempt()).await.unwrap();
    let limit = limit.unwrap();
    assert_eq!(limit.reason, "slow down now");
    assert!(limit.remaining > Duration::from_secs(3590), "{limit:?}");
    let of_agent = setup.store.calls.agent_limit("codex".to_owned()).await;
    assert_eq!(of_agent.unwrap().unwrap().account, limit.account);
}

#[tokio::test]
async fn limit_that_cannot_be_stored_is_kept_in_the_process() {
    let mut setup = Setup::new(Vec::new()).await;
    let bridge = Bridge::new(MeterSettings::default());
    bridge.store_in(Arc::new(BrokenStore));
    let access = setup.open_on(&bridge, "codex");
    let agent = send(&access, &token(&access), "POST /messages", REQUEST).await;
    setup.next().await.answer(LIMITED).await;
    read_response(agent).await;
    // By then, what other processes have stored is read again.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let agent = send(&access, &token(&access), "POST /messages", REQUEST).await;
    let (head, body) = read_response(agent).await;
    assert!(head.starts_with("HTTP/1.1 429"), "{head}");
    assert!(body.contains("slow down now"), "{body}");
    assert!(setup.requests.try_recv().is_err(), "the provider was asked");
}

#[tokio::test]
async fn error_inside_a_stream_is_a_short_limit_for_which_tasks_wait_and_calls_do_not() {
    let stream = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 167\r\n\r\n\
        event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\"}}\n\n\
        event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
    let mut setup = Setup::new(Vec::new()).await;
    let access = setup.open();
    let agent = send(&access, &token(&access), "POST /messages", REQUEST).await;
    setup.next().await.answer(stream).await;
    let (head, body) = read_response(agent).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(body.contains("busy"), "{body}");
    setup.bridge.flush().await;
    let limit = setup.store.calls.attempt_limit(attempt()).await.unwrap();
    assert_eq!(limit.unwrap().reason, "busy");
    let agent = send(&access, &token(&access), "POST /messages", REQUEST).await;
    setup.next().await.answer(DONE).await;
    let (head, _) = read_response(agent).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
}

#[tokio::test]
async fn call_near_the_end_of_a_limit_is_held_until_then() {
    let mut setup = Setup::new(Vec::new()).await;
    let access = setup.open();
    let agent = send(&access, &token(&access), "POST /messages", REQUEST).await;
    let limited = LIMITED.replace("3600", "6");
    setup.next().await.answer(&limited).await;
    read_response(agent).await;
    let remaining = async || {
        let limit = setup.store.calls.attempt_limit(attempt()).await.unwrap();
        limit.map(|limit| limit.remaining)
    };
    while remaining().await > Some(Duration::from_secs(4)) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let agent = send(&access, &token(&access), "POST /messages", REQUEST).await;
    let mut received = setup.requests.recv().await.unwrap();
    assert_eq!(remaining().await, None, "sent before the end");
    received.answer(DONE).await;
    let (head, _) = read_response(agent).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
}

#[tokio::test]
async fn other_process_and_other_agent_know_the_limit() {
    let setup = limited_setup().await;
    let other = Bridge::new(MeterSettings::default());
    other.store_in(Arc::clone(&setup.store.calls));
    let access = setup.open_on(&other, "claude");
    let agent = send(&access, &token(&access), "POST /messages", REQUEST).await;
    let (head, _) = read_response(agent).await;
    assert!(head.starts_with("HTTP/1.1 429"), "{head}");
    let limit = setup.store.calls.agent_limit("claude".to_owned()).await;
    assert!(limit.unwrap().is_some());
}

#[tokio::test]
async fn other_key_is_another_account() {
    let mut setup = limited_setup().await;
    let access = setup.open_with(vec![SecretString::from("sk-other-0123456789")]);
    let agent = send(&access, &token(&access), "POST /messages", REQUEST).await;
    setup.next().await.answer(DONE).await;
    let (head, _) = read_response(agent).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
}

/// Answers the next call, which must have this key, and closes the connection.
async fn answer_call_with(setup: &mut Setup, key: &str, answer: &str) {
    let mut received = setup.next().await;
    assert!(received.head.contains(key), "{}", received.head);
    received.answer(answer).await;
}

#[tokio::test]
async fn call_continues_with_another_account_of_the_agent() {
    const SECOND: &str = "sk-second-0123456789";
    let mut setup = Setup::new(Vec::new()).await;
    let access = setup.open_with_accounts(&[SECOND]);
    let agent = send(&access, &token(&access), "POST /messages", REQUEST).await;
    answer_call_with(&mut setup, KEY, LIMITED).await;
    answer_call_with(&mut setup, SECOND, DONE).await;
    let (head, _) = read_response(agent).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    setup.bridge.flush().await;
    let limits = &setup.store.calls;
    assert_eq!(limits.attempt_limit(attempt()).await.unwrap(), None);
    let of_agent = limits.agent_limit("codex".to_owned()).await.unwrap();
    assert_eq!(of_agent, None, "the account that was called last is free");

    let agent = send(&access, &token(&access), "POST /messages", REQUEST).await;
    answer_call_with(&mut setup, SECOND, LIMITED).await;
    let (head, _) = read_response(agent).await;
    assert!(head.starts_with("HTTP/1.1 429"), "{head}");
    let agent = send(&access, &token(&access), "POST /messages", REQUEST).await;
    let (head, _) = read_response(agent).await;
    assert!(head.starts_with("HTTP/1.1 429"), "{head}");
    assert!(setup.requests.try_recv().is_err(), "the provider was asked");
    let of_agent = setup.store.calls.agent_limit("codex".to_owned()).await;
    assert!(of_agent.unwrap().is_some());
}

#[tokio::test]
async fn calls_of_an_account_wait_for_each_other() {
    let mut setup = Setup::new(Vec::new()).await;
    let access = setup.open_with_accounts(&[]);
    let mut agents = Vec::new();
    for _ in 0..3 {
        agents.push(send(&access, &token(&access), "POST /messages", REQUEST).await);
    }
    for _ in 0..agents.len() {
        let mut received = setup.next().await;
        let other = tokio::time::timeout(Duration::from_millis(200), setup.requests.recv());
        assert!(other.await.is_err(), "two calls at the same time");
        received.answer(DONE).await;
        drop(received);
    }
    for agent in agents {
        let (head, _) = read_response(agent).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    }
}

#[tokio::test]
async fn cleared_account_is_asked_again() {
    let mut setup = limited_setup().await;
    let limits = setup.store.calls.account_limits().await.unwrap();
    assert_eq!(limits.len(), 1);
    let account = limits[0].account.clone();
    let cleared = setup.store.calls.clear_account_limit(account).await;
    assert!(cleared.unwrap());
    let other = Bridge::new(MeterSettings::default());
    other.store_in(Arc::clone(&setup.store.calls));
    let access = setup.open_on(&other, "codex");
    let agent = send(&access, &token(&access), "POST /messages", REQUEST).await;
    setup.next().await.answer(DONE).await;
    let (head, _) = read_response(agent).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
}

#[tokio::test]
async fn call_that_the_policy_forbids_is_not_sent_and_a_secret_leaves_masked() {
    let secret = SecretString::from("sk-canary-in-a-file");
    let policy = CallPolicy {
        models: vec!["m".to_owned()],
        masker: Some(Masker::new([("FILE_KEY".to_owned(), secret)])),
        ..CallPolicy::default()
    };
    let mut setup = Setup::with_policy(Vec::new(), policy).await;
    let access = setup.open();
    let other = b"{\"model\":\"other\"}";
    let agent = send(&access, &token(&access), "POST /messages", other).await;
    let (head, body) = read_response(agent).await;
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let text = "windlass policy: other is not in policy.models";
    assert!(body.contains(text), "{body}");
    assert!(setup.requests.try_recv().is_err(), "the provider was asked");
    assert!(setup.totals().await.is_empty());

    let request = b"{\"model\":\"m\",\"messages\":\"the key is sk-canary-in-a-file\"}";
    let agent = send(&access, &token(&access), "POST /messages", request).await;
    let mut received = setup.next().await;
    let sent = String::from_utf8(received.body.clone()).unwrap();
    assert!(!sent.contains("canary"), "{sent}");
    assert!(
        serde_json::from_str::<serde_json::Value>(&sent).is_ok(),
        "{sent}"
    );
    received.answer(DONE).await;
    read_response(agent).await;
}
