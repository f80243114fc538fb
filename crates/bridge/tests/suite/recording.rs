//! Calls are recorded as agents see them, without any key.

use std::sync::Arc;

use parking_lot::Mutex;
use windlass_bridge::CallRecorder;
use windlass_cassette::Exchange;
use windlass_tasks::CallLabels;

use super::provider::{KEY, Setup, read_response, send, token};

#[derive(Debug, Default)]
struct Recorded(Mutex<Vec<(CallLabels, Exchange)>>);

impl CallRecorder for Recorded {
    fn record(&self, labels: &CallLabels, exchange: Exchange) {
        self.0.lock().push((labels.clone(), exchange));
    }
}

#[tokio::test]
async fn p19_recorded_call_has_neither_key_nor_token() {
    let mut setup = Setup::new(Vec::new()).await;
    let recorded = Arc::new(Recorded::default());
    setup.bridge.record_with(Arc::<Recorded>::clone(&recorded));
    let access = setup.open();
    let token = token(&access);
    let request = format!("POST /messages?beta=true&key={token}");
    let agent = send(&access, &token, &request, b"{\"model\":\"m\"}").await;
    let mut received = setup.next().await;
    assert!(received.head.contains(KEY), "{}", received.head);
    received
        .answer("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-own: 1\r\ncontent-length: 2\r\n\r\n{}")
        .await;
    read_response(agent).await;

    // A call without a token is none of the agent's.
    let stranger = send(&access, "other", "POST /messages", b"{}").await;
    let (head, _) = read_response(stranger).await;
    assert!(head.starts_with("HTTP/1.1 401"), "{head}");

    let recorded = recorded.0.lock();
    let [(labels, exchange)] = &recorded[..] else {
        unreachable!("{recorded:?}");
    };
    assert_eq!(labels.task.map(|task| task.get()), Some(7));
    assert!(
        exchange.path.ends_with("/messages?beta=true"),
        "{}",
        exchange.path
    );
    assert_eq!(exchange.body["model"], "m");
    assert_eq!((exchange.status, exchange.cut), (200, None));
    assert_eq!(exchange.chunks[0].text, "{}");
    let text = format!("{exchange:?}");
    assert!(!text.contains(&token) && !text.contains(KEY), "{text}");
}
