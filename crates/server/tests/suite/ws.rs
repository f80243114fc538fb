//! Live events: in order, without gaps or duplicates, and a slow subscriber affects only itself.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use windlass_server::ServerLimits;
use windlass_tasks::{StoreError, TaskQueue};

use super::client::raw;
use super::harness::{Harness, serve};
use super::store::Fault;

/// One subscriber.
pub(crate) struct Socket<S = TcpStream> {
    pub(crate) stream: WebSocketStream<S>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<S> {
    /// Returns the next message.
    pub(crate) async fn next_json(&mut self) -> Value {
        loop {
            match self.stream.next().await.unwrap().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Returns the sequence numbers of the next events.
    pub(crate) async fn numbers(&mut self, count: usize) -> Vec<u64> {
        let mut numbers = Vec::new();
        while numbers.len() < count {
            let message = self.next_json().await;
            numbers.extend(message["seq"].as_u64());
        }
        numbers
    }

    pub(crate) async fn send(&mut self, value: &Value) {
        let text = Message::text(value.to_string());
        self.stream.send(text).await.unwrap();
    }

    /// Reads until the server closes the connection, and returns code and reason.
    pub(crate) async fn closed(&mut self) -> Option<(u16, String)> {
        while let Some(Ok(message)) = self.stream.next().await {
            if let Message::Close(Some(frame)) = message {
                return Some((frame.code.into(), frame.reason.to_string()));
            }
        }
        None
    }
}

pub(crate) async fn connect(harness: &Harness, query: &str) -> Socket {
    open(harness, harness.addr(), query).await
}

async fn open(harness: &Harness, addr: std::net::SocketAddr, query: &str) -> Socket {
    let bearer = format!("Bearer {}", harness.token());
    open_with(addr, query, "authorization", &bearer).await
}

/// Connects with a header that authenticates.
pub(crate) async fn open_with(
    addr: std::net::SocketAddr,
    query: &str,
    name: &'static str,
    value: &str,
) -> Socket {
    let url = format!("ws://{addr}/api/v1/ws{query}");
    let mut request = url.into_client_request().unwrap();
    request.headers_mut().insert(name, value.parse().unwrap());
    let stream = TcpStream::connect(addr).await.unwrap();
    let (stream, _) = tokio_tungstenite::client_async(request, stream)
        .await
        .unwrap();
    Socket { stream }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_delivered_live_with_the_fields_of_their_kind() {
    let harness = Harness::new().await;
    let mut socket = connect(&harness, "").await;
    assert_eq!(
        socket.next_json().await,
        json!({"type": "hello", "last": 0})
    );
    let task = harness.add("sell tea").await;
    let message = socket.next_json().await;
    assert_eq!(message["type"], "task_status");
    let keys: Vec<&String> = message.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "seq",
            "at",
            "type",
            "project_id",
            "task_id",
            "status",
            "agent_id"
        ]
    );
    assert_eq!(
        (&message["seq"], &message["task_id"]),
        (&json!(1), &json!(task.id))
    );
    // Control characters are escaped before they are sent.
    let raw = socket.stream.next();
    harness.broadcast(1, 3).await;
    let Message::Text(text) = raw.await.unwrap().unwrap() else {
        panic!("expected a message");
    };
    assert!(text.contains("activity_update"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p14_subscriber_that_connects_during_events_misses_nothing() {
    let mut limits = ServerLimits::default();
    limits.ring_events = 50;
    let harness = Harness::with(limits).await;
    let broadcasting = async {
        for _ in 0..100 {
            harness.broadcast(10, 10).await;
        }
    };
    let reading = async {
        let mut at = 0;
        while at < 1_000 {
            let mut socket = connect(&harness, &format!("?after={at}")).await;
            assert_eq!(socket.next_json().await["type"], "hello");
            for _ in 0..37.min(1_000 - at) {
                let message = socket.next_json().await;
                let Some(number) = message["seq"].as_u64() else {
                    // After the notice, it reconnects for the rest.
                    assert_eq!(message["type"], "lagged");
                    break;
                };
                assert_eq!(number, at + 1);
                at = number;
            }
        }
    };
    tokio::join!(broadcasting, reading);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscription_can_be_limited_and_changed() {
    let harness = Harness::new().await;
    let (one, two) = (harness.add("one").await, harness.add("two").await);
    let mut socket = connect(&harness, &format!("?task={}&after=0", two.id)).await;
    // The server itself may not have read both events yet.
    assert_eq!(socket.next_json().await["type"], "hello");
    assert_eq!(socket.numbers(1).await, [2]);
    harness.store.cancel(one.id).await.unwrap();
    harness.store.cancel(two.id).await.unwrap();
    assert_eq!(socket.numbers(1).await, [4]);
    let other = json!({"type": "subscribe", "project_id": harness.project.id, "task_id": one.id, "after": 0});
    socket.send(&other).await;
    assert_eq!(socket.next_json().await["type"], "hello");
    assert_eq!(socket.numbers(2).await, [1, 3]);
    let nothing = json!({"type": "subscribe", "project_id": 99, "task_id": null});
    socket.send(&nothing).await;
    assert_eq!(socket.next_json().await["type"], "hello");
    harness.broadcast(1, 1).await;
    socket.send(&json!({"type": "subscribe", "after": 4})).await;
    assert_eq!(socket.next_json().await["type"], "hello");
    assert_eq!(socket.numbers(1).await, [5]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p13_slow_subscriber_is_closed_without_affecting_others() {
    let mut limits = ServerLimits::default();
    limits.ring_events = 20;
    limits.behind = Duration::from_secs(5);
    let harness = Harness::with(limits).await;
    let mut never = connect(&harness, "").await;
    let mut good = connect(&harness, "").await;
    assert_eq!(good.next_json().await["type"], "hello");
    let broadcasting = async {
        // More than the operating system buffers for a socket that is not read.
        for _ in 0..300 {
            harness.broadcast(10, 10_000).await;
        }
    };
    let reading = async {
        let mut at = 0;
        while at < 3_000 {
            let message = match good.stream.next().await.unwrap().unwrap() {
                Message::Text(text) => serde_json::from_str::<Value>(&text).unwrap(),
                // A stalled machine may make this one too slow as well; then it connects again.
                Message::Close(Some(frame)) if u16::from(frame.code) == 1013 => {
                    good = connect(&harness, &format!("?after={at}")).await;
                    assert_eq!(good.next_json().await["type"], "hello");
                    continue;
                }
                _ => continue,
            };
            if let Some(number) = message["seq"].as_u64() {
                assert_eq!(number, at + 1);
                at = number;
            } else {
                // On a slow machine this one may be notified as well; then it fetches the events, as any
                // client would.
                assert_eq!(message["type"], "lagged", "{message}");
                at = message["to"].as_u64().unwrap();
            }
        }
    };
    tokio::join!(broadcasting, reading);
    // Only now it starts to read: it gets the first events, and then the close frame.
    let mut numbers = Vec::new();
    let mut lagged = false;
    while let Some(Ok(message)) = never.stream.next().await {
        match message {
            Message::Text(text) => {
                let value: Value = serde_json::from_str(&text).unwrap();
                lagged |= value["type"] == "lagged";
                numbers.extend(value["seq"].as_u64());
                // On a fast machine it catches up before it counts as too slow, and stays connected.
                if value["seq"] == 3_000 || value["to"] == 3_000 {
                    break;
                }
            }
            Message::Close(Some(frame)) => {
                assert_eq!(u16::from(frame.code), 1013);
                break;
            }
            _ => {}
        }
    }
    assert!(numbers.is_sorted(), "received events are in order");
    assert!(
        numbers.len() < 3_000 || lagged,
        "it was closed, or notified of what it missed"
    );
    // The events it missed are available by sequence number.
    let last = numbers.last().map_or(0, |last| (*last).min(2_999));
    let mut again = connect(&harness, &format!("?after={last}")).await;
    assert_eq!(again.numbers(1).await, [last + 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p13_evicted_events_are_reported_with_their_numbers() {
    let mut limits = ServerLimits::default();
    limits.ring_events = 5;
    let harness = Harness::with(limits).await;
    let mut socket = connect(&harness, "").await;
    assert_eq!(socket.next_json().await["type"], "hello");
    // One push of a hundred events goes through a ring of five.
    harness.broadcast(100, 10).await;
    let mut at = 0;
    while at < 100 {
        let message = socket.next_json().await;
        match message["seq"].as_u64() {
            Some(number) => {
                assert_eq!(number, at + 1);
                at = number;
            }
            None => {
                assert_eq!(message["type"], "lagged");
                assert_eq!(message["from"].as_u64(), Some(at + 1));
                at = message["to"].as_u64().unwrap();
            }
        }
    }
    let mut again = connect(&harness, "?after=0").await;
    assert_eq!(again.numbers(100).await, (1..=100).collect::<Vec<u64>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p14_subscribers_continue_at_another_server_on_the_same_store() {
    let harness = Harness::new().await;
    let other = serve(
        &harness.store,
        &harness.access,
        &harness.token,
        harness.project.id,
        ServerLimits::default(),
        "127.0.0.1:0",
    )
    .await;
    let mut first = connect(&harness, "").await;
    let mut second = open(&harness, other.addr(), "").await;
    assert_eq!(first.next_json().await["type"], "hello");
    assert_eq!(second.next_json().await["type"], "hello");
    harness.add("sell tea").await;
    assert_eq!(first.next_json().await, second.next_json().await);
    harness.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_outage_and_recovery_are_reported() {
    let harness = Harness::new().await;
    let mut socket = connect(&harness, "").await;
    assert_eq!(socket.next_json().await["type"], "hello");
    let gone = StoreError::Unavailable("/home/me/secret is gone".to_owned());
    harness.store.fail(Some(Fault::Error(gone)));
    let stale = socket.next_json().await;
    assert_eq!(
        stale,
        json!({"type": "stale", "reason": "the store cannot be reached"})
    );
    // A subscriber that connects during the outage is notified immediately.
    let mut late = connect(&harness, "?after=0").await;
    assert_eq!(late.next_json().await["type"], "hello");
    assert_eq!(late.next_json().await["type"], "stale");
    harness.store.fail(None);
    assert_eq!(socket.next_json().await, json!({"type": "fresh"}));
    harness.add("sell tea").await;
    assert_eq!(socket.numbers(1).await, [1]);
    assert_eq!(late.numbers(1).await, [1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_frames_close_only_their_own_connection() {
    let mut limits = ServerLimits::default();
    limits.frames = 50;
    let harness = Harness::with(limits).await;
    let mut good = connect(&harness, "").await;
    assert_eq!(good.next_json().await["type"], "hello");

    // Malformed messages get an error, and have no other effect.
    let mut socket = connect(&harness, "").await;
    assert_eq!(socket.next_json().await["type"], "hello");
    for malformed in [
        "",
        "x",
        "[]",
        "{}",
        "{\"type\":\"subscribe\",\"after\":-1}",
        "{\"type\":\"subscribe\",\"evil\":1}",
        "{\"type\":\"drop\"}",
    ] {
        socket.stream.send(Message::text(malformed)).await.unwrap();
        assert_eq!(socket.next_json().await["type"], "error", "{malformed}");
    }
    socket
        .stream
        .send(Message::binary(vec![0, 1]))
        .await
        .unwrap();
    assert_eq!(socket.closed().await.unwrap().0, 1003);

    // A message that is too long.
    let mut socket = connect(&harness, "").await;
    let long = Message::text("x".repeat(100_000));
    let _ = socket.stream.send(long).await;
    socket.closed().await;

    // A flood of pings.
    let mut socket = connect(&harness, "").await;
    for _ in 0..200 {
        if socket
            .stream
            .send(Message::Ping(Vec::new().into()))
            .await
            .is_err()
        {
            break;
        }
    }
    let end = socket.closed().await;
    assert!(end.is_none_or(|(code, _)| code == 1008));

    // Bytes that are not valid frames: unmasked, reserved bits, an endless length.
    for bytes in [
        &b"\x81\x02hi"[..],
        &b"\xf1\x80\0\0\0\0"[..],
        &b"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0"[..],
    ] {
        let mut socket = connect(&harness, "").await;
        assert_eq!(socket.next_json().await["type"], "hello");
        socket.stream.get_mut().write_all(bytes).await.unwrap();
        socket.closed().await;
    }

    harness.add("sell tea").await;
    assert_eq!(good.numbers(1).await, [1]);
}

#[tokio::test]
async fn hostile_handshakes_are_rejected() {
    let harness = Harness::new().await;
    // A handshake with a megabyte of headers, and invalid numbers.
    let upgrade = |query: &str| {
        super::client::Request::upgrade(&format!("/api/v1/ws{query}"))
            .header("Host", &harness.host())
            .header("x-api-key", harness.token())
    };
    let long = upgrade("").header("X", &"a".repeat(1 << 20));
    assert!(
        raw(harness.addr(), &long.bytes())
            .await
            .is_none_or(|response| response.status == 431)
    );
    for query in [
        "?after=-1",
        "?after=x",
        "?after=18446744073709551616",
        "?project=x",
        "?evil=1",
    ] {
        let response = raw(harness.addr(), &upgrade(query).bytes()).await.unwrap();
        assert_eq!(response.status, 400, "{query}");
    }
    let future = raw(
        harness.addr(),
        &upgrade("?after=9223372036854775808").bytes(),
    )
    .await
    .unwrap();
    assert_eq!(future.status, 101);
}

mod exhaustive {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn p14_disconnect_at_every_event_resumes_without_gap_or_duplicate() {
        const EVENTS: u64 = 1_000;
        // A small ring, so that most events come from the store and the rest from the ring.
        let mut limits = ServerLimits::default();
        limits.ring_events = 300;
        let harness = Harness::with(limits).await;
        assert_eq!(harness.broadcast(EVENTS as usize, 10).await, EVENTS);
        let mut seen = Vec::new();
        for after in 0..EVENTS {
            let mut socket = connect(&harness, &format!("?after={after}")).await;
            assert_eq!(socket.next_json().await["type"], "hello");
            // Some disconnect immediately, some receive a few of the following events.
            let take = usize::try_from((EVENTS - after).min(after % 5 + 1)).unwrap();
            let numbers = socket.numbers(take).await;
            let expected: Vec<u64> = (after + 1..=after + take as u64).collect();
            assert_eq!(numbers, expected, "after {after}");
            seen.push(numbers[0]);
        }
        assert_eq!(seen, (1..=EVENTS).collect::<Vec<u64>>());
        let mut whole = connect(&harness, "?after=0").await;
        let numbers = whole.numbers(EVENTS as usize).await;
        assert_eq!(numbers, (1..=EVENTS).collect::<Vec<u64>>());
        // New events follow without a gap.
        harness.broadcast(3, 10).await;
        assert_eq!(whole.numbers(3).await, [1001, 1002, 1003]);
    }
}
