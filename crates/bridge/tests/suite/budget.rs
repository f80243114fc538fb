//! Calls beyond a spending limit are refused, whatever happens at the same time.

use std::sync::Arc;

use windlass_agents::bridge::{ModelBridge, ModelRoute};
use windlass_bridge::{Bridge, CallPolicy, MeterSettings};
use windlass_tasks::{
    AccountLimit, AccountLimits, AttemptRef, CallAdmission, ModelCallEnd, ModelCallId, ModelCalls,
    NewAccountLimit, NewModelCall, SpendLimit, SpendScope, StoreError, StoreFuture, UsageQuery,
    UsageTotal,
};

use super::provider::{Setup, read_response, send, token};

const REQUEST: &[u8] = b"{\"model\":\"m\",\"max_tokens\":100}";
/// What the request reserves: a token per byte at $1, and 100 at $10 for a million.
const RESERVED: i64 = 1_000 * REQUEST.len() as i64 + 10_000 * 100;
/// What the response costs.
const RESPONSE: &str = r#"{"model":"m","usage":{"input_tokens":10,"output_tokens":99}}"#;

fn limit(scope: SpendScope, nanos: i64) -> Vec<SpendLimit> {
    vec![SpendLimit { scope, nanos }]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_calls_cannot_exceed_the_limit() {
    let mut setup = Setup::new(limit(SpendScope::Attempt, 10 * RESERVED)).await;
    let access = Arc::new(setup.open());
    let calls: Vec<_> = (0..32)
        .map(|_| {
            let access = Arc::clone(&access);
            tokio::spawn(async move {
                let stream = send(&access, &token(&access), "POST /messages", REQUEST).await;
                read_response(stream).await
            })
        })
        .collect();
    // No call has ended, so what is reserved is what was admitted.
    let mut open = Vec::new();
    for _ in 0..10 {
        open.push(setup.next().await);
    }
    let mut refused = 0;
    while refused < 22 {
        let by_agent = UsageQuery::all(windlass_tasks::UsageKey::Agent);
        let totals = setup.store.calls.usage_totals(by_agent);
        let totals = totals.await.unwrap();
        assert_eq!(totals[0].calls, 10);
        refused = calls.iter().filter(|call| call.is_finished()).count();
        tokio::task::yield_now().await;
    }
    assert!(
        setup.requests.try_recv().is_err(),
        "an eleventh call was sent"
    );
    for received in &mut open {
        received
            .answer(&format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{RESPONSE}",
                RESPONSE.len()
            ))
            .await;
    }
    let (mut passed, mut refused) = (0, 0);
    for call in calls {
        let (head, body) = call.await.unwrap();
        if head.starts_with("HTTP/1.1 200") {
            passed += 1;
        } else {
            refused += 1;
            assert!(body.contains("\"type\":\"error\""), "{body}");
            assert!(
                body.contains("windlass budget exceeded: the spending limit of the attempt is $"),
                "{body}"
            );
        }
    }
    assert_eq!((passed, refused), (10, 22));
    let totals = setup.totals().await;
    assert_eq!(totals[0].cost_nanos, 10 * (10 * 1_000 + 99 * 10_000));
    // What was reserved and not used is free again.
    let stream = send(&access, &token(&access), "POST /messages", REQUEST).await;
    let (head, _) = read_response(stream).await;
    assert!(!head.starts_with("HTTP/1.1 200"), "9 of 10 parts are spent");
}

#[tokio::test]
async fn model_with_an_unknown_price_is_refused() {
    let setup = Setup::new(limit(SpendScope::Day, i64::MAX)).await;
    let access = setup.open();
    let request = b"{\"model\":\"unknown\"}";
    let stream = send(&access, &token(&access), "POST /chat/completions", request).await;
    let (head, body) = read_response(stream).await;
    assert!(!head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(body.contains("the price of unknown is unknown"), "{body}");
}

/// A store on a full disk: it can read, but not write.
#[derive(Debug)]
pub(crate) struct BrokenStore;

fn disk_full<T: Send + 'static>() -> StoreFuture<'static, T> {
    let error = StoreError::Unavailable("the disk is full".to_owned());
    Box::pin(std::future::ready(Err(error)))
}

impl AccountLimits for BrokenStore {
    fn limit_account(&self, _: NewAccountLimit) -> StoreFuture<'_, ()> {
        disk_full()
    }

    fn clear_account_limit(&self, _: String) -> StoreFuture<'_, bool> {
        Box::pin(std::future::ready(Ok(false)))
    }

    fn account_limits(&self) -> StoreFuture<'_, Vec<AccountLimit>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn agent_limit(&self, _: String) -> StoreFuture<'_, Option<AccountLimit>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn attempt_limit(&self, _: AttemptRef) -> StoreFuture<'_, Option<AccountLimit>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

impl ModelCalls for BrokenStore {
    fn begin_call(&self, _: NewModelCall, _: Vec<SpendLimit>) -> StoreFuture<'_, CallAdmission> {
        disk_full()
    }

    fn refuse_call(&self, _: NewModelCall, _: Option<String>) -> StoreFuture<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn end_call(&self, _: ModelCallId, _: ModelCallEnd) -> StoreFuture<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn usage_totals(&self, _: UsageQuery) -> StoreFuture<'_, Vec<UsageTotal>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

#[tokio::test]
async fn call_that_cannot_be_counted_is_refused_if_there_is_a_limit() {
    for store in [Some(Arc::new(BrokenStore)), None] {
        let bridge = Bridge::new(MeterSettings {
            prices: Vec::new(),
            limits: limit(SpendScope::Day, i64::MAX),
            policy: CallPolicy::default(),
        });
        let expected = if store.is_some() {
            "the disk is full"
        } else {
            "no store to count in"
        };
        if let Some(store) = store {
            bridge.store_in(store);
        }
        let access = bridge.open(ModelRoute {
            agent: "codex".to_owned(),
            // Nothing listens there.
            upstream: "http://127.0.0.1:1".to_owned(),
            ..ModelRoute::default()
        });
        let access = access.unwrap();
        let stream = send(&access, &token(&access), "POST /v1/messages", REQUEST).await;
        let (_, body) = read_response(stream).await;
        assert!(body.contains(expected), "{body}");
    }
}
