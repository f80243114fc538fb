//! Messages as they happen: in order, without gap or double, and a slow reader harms itself only.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use windlass_core::TaskStore;
use windlass_core::task::StoreError;
use windlass_server::ServerLimits;

use super::client::raw;
use super::store::Fault;
use super::world::{World, serve};

/// One reader.
pub(crate) struct Socket {
    pub(crate) stream: WebSocketStream<TcpStream>,
}

impl Socket {
    /// The next thing that is said.
    pub(crate) async fn next_json(&mut self) -> Value {
        loop {
            match self.stream.next().await.unwrap().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The numbers of the next messages.
    async fn numbers(&mut self, count: usize) -> Vec<u64> {
        let mut numbers = Vec::new();
        while numbers.len() < count {
            let message = self.next_json().await;
            numbers.extend(message["seq"].as_u64());
        }
        numbers
    }

    async fn say(&mut self, value: &Value) {
        let text = Message::text(value.to_string());
        self.stream.send(text).await.unwrap();
    }

    /// Reads until the server closes, and gives why.
    pub(crate) async fn closed(&mut self) -> Option<(u16, String)> {
        while let Some(Ok(message)) = self.stream.next().await {
            if let Message::Close(Some(frame)) = message {
                return Some((frame.code.into(), frame.reason.to_string()));
            }
        }
        None
    }
}

pub(crate) async fn connect(world: &World, query: &str) -> Socket {
    open(world, world.addr(), query).await
}

async fn open(world: &World, addr: std::net::SocketAddr, query: &str) -> Socket {
    let url = format!("ws://{addr}/api/v1/ws{query}");
    let mut request = url.into_client_request().unwrap();
    let bearer = format!("Bearer {}", world.token()).parse().unwrap();
    request.headers_mut().insert("authorization", bearer);
    let stream = TcpStream::connect(addr).await.unwrap();
    let (stream, _) = tokio_tungstenite::client_async(request, stream)
        .await
        .unwrap();
    Socket { stream }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_come_live_and_with_the_fields_of_their_kind() {
    let world = World::new().await;
    let mut socket = connect(&world, "").await;
    assert_eq!(
        socket.next_json().await,
        json!({"type": "hello", "last": 0})
    );
    let task = world.add("sell tea").await;
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
    // What would command a terminal does not go over the wire as it is.
    let raw = socket.stream.next();
    world.tell(1, 3).await;
    let Message::Text(text) = raw.await.unwrap().unwrap() else {
        panic!("expected a message");
    };
    assert!(text.contains("activity_update"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p14_cut_at_every_event_and_resumed_without_gap_or_double() {
    const EVENTS: u64 = 1_000;
    // A small ring, so that most of it must come from the store and the rest from the ring.
    let mut limits = ServerLimits::default();
    limits.ring_events = 300;
    let world = World::with(limits).await;
    assert_eq!(world.tell(EVENTS as usize, 10).await, EVENTS);
    let mut seen = Vec::new();
    for cut in 0..EVENTS {
        let mut socket = connect(&world, &format!("?after={cut}")).await;
        assert_eq!(socket.next_json().await["type"], "hello");
        // Some are cut at once, some take a piece of what follows.
        let take = usize::try_from((EVENTS - cut).min(cut % 5 + 1)).unwrap();
        let numbers = socket.numbers(take).await;
        let wanted: Vec<u64> = (cut + 1..=cut + take as u64).collect();
        assert_eq!(numbers, wanted, "after {cut}");
        seen.push(numbers[0]);
    }
    assert_eq!(seen, (1..=EVENTS).collect::<Vec<u64>>());
    let mut whole = connect(&world, "?after=0").await;
    let numbers = whole.numbers(EVENTS as usize).await;
    assert_eq!(numbers, (1..=EVENTS).collect::<Vec<u64>>());
    // And what happens from now on follows without a seam.
    world.tell(3, 10).await;
    assert_eq!(whole.numbers(3).await, [1001, 1002, 1003]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p14_a_reader_that_comes_while_things_happen_misses_nothing() {
    let mut limits = ServerLimits::default();
    limits.ring_events = 50;
    let world = World::with(limits).await;
    let telling = async {
        for _ in 0..100 {
            world.tell(10, 10).await;
        }
    };
    let reading = async {
        let mut at = 0;
        while at < 1_000 {
            let mut socket = connect(&world, &format!("?after={at}")).await;
            assert_eq!(socket.next_json().await["type"], "hello");
            for _ in 0..37.min(1_000 - at) {
                let message = socket.next_json().await;
                let Some(number) = message["seq"].as_u64() else {
                    // Told so, it comes back for the rest.
                    assert_eq!(message["type"], "lagged");
                    break;
                };
                assert_eq!(number, at + 1);
                at = number;
            }
        }
    };
    tokio::join!(telling, reading);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_choose_a_project_or_a_task_and_may_choose_again() {
    let world = World::new().await;
    let (one, two) = (world.add("one").await, world.add("two").await);
    let mut socket = connect(&world, &format!("?task={}&after=0", two.id)).await;
    // The server itself may not have heard of both yet.
    assert_eq!(socket.next_json().await["type"], "hello");
    assert_eq!(socket.numbers(1).await, [2]);
    world.store.cancel(one.id).await.unwrap();
    world.store.cancel(two.id).await.unwrap();
    assert_eq!(socket.numbers(1).await, [4]);
    let other =
        json!({"type": "subscribe", "project_id": world.project.id, "task_id": one.id, "after": 0});
    socket.say(&other).await;
    assert_eq!(socket.next_json().await["type"], "hello");
    assert_eq!(socket.numbers(2).await, [1, 3]);
    let nothing = json!({"type": "subscribe", "project_id": 99, "task_id": null});
    socket.say(&nothing).await;
    assert_eq!(socket.next_json().await["type"], "hello");
    world.tell(1, 1).await;
    socket.say(&json!({"type": "subscribe", "after": 4})).await;
    assert_eq!(socket.next_json().await["type"], "hello");
    assert_eq!(socket.numbers(1).await, [5]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p13_a_slow_reader_is_told_and_closed_and_harms_nobody() {
    let mut limits = ServerLimits::default();
    limits.ring_events = 20;
    limits.behind = Duration::from_secs(2);
    let world = World::with(limits).await;
    let mut never = connect(&world, "").await;
    let mut good = connect(&world, "").await;
    assert_eq!(good.next_json().await["type"], "hello");
    let telling = async {
        // More than the system keeps for a socket that nobody reads.
        for _ in 0..300 {
            world.tell(10, 10_000).await;
        }
    };
    let reading = async {
        let mut at = 0;
        while at < 3_000 {
            let message = good.next_json().await;
            if let Some(number) = message["seq"].as_u64() {
                assert_eq!(number, at + 1);
                at = number;
            } else {
                // On a starved machine the good one may be told as well: then it fetches, as anybody would.
                assert_eq!(message["type"], "lagged", "{message}");
                at = message["to"].as_u64().unwrap();
            }
        }
    };
    tokio::join!(telling, reading);
    // Only now it begins to read: it finds the first messages, and then the end.
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
    assert!(numbers.is_sorted(), "in order, as far as they came");
    assert!(
        numbers.len() < 3_000 || lagged,
        "it was closed, or told what it missed"
    );
    // What it missed is there for it, by number.
    let last = numbers.last().map_or(0, |last| (*last).min(2_999));
    let mut again = connect(&world, &format!("?after={last}")).await;
    assert_eq!(again.numbers(1).await, [last + 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p13_what_left_the_ring_is_told_with_its_numbers() {
    let mut limits = ServerLimits::default();
    limits.ring_events = 5;
    let world = World::with(limits).await;
    let mut socket = connect(&world, "").await;
    assert_eq!(socket.next_json().await["type"], "hello");
    // One push of a hundred goes through a ring of five.
    world.tell(100, 10).await;
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
    let mut again = connect(&world, "?after=0").await;
    assert_eq!(again.numbers(100).await, (1..=100).collect::<Vec<u64>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p14_readers_go_on_at_another_server_on_the_same_store() {
    let world = World::new().await;
    let other = serve(
        &world.store,
        &world.token,
        world.project.id,
        ServerLimits::default(),
        "127.0.0.1:0",
    )
    .await;
    let mut here = connect(&world, "").await;
    let mut there = open(&world, other.addr(), "").await;
    assert_eq!(here.next_json().await["type"], "hello");
    assert_eq!(there.next_json().await["type"], "hello");
    world.add("sell tea").await;
    assert_eq!(here.next_json().await, there.next_json().await);
    world.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_goes_away_is_told_and_its_return_too() {
    let world = World::new().await;
    let mut socket = connect(&world, "").await;
    assert_eq!(socket.next_json().await["type"], "hello");
    let gone = StoreError::Unavailable("/home/me/secret is gone".to_owned());
    world.store.fail(Some(Fault::Answer(gone)));
    let stale = socket.next_json().await;
    assert_eq!(
        stale,
        json!({"type": "stale", "reason": "the store cannot be reached"})
    );
    // Who comes meanwhile is told at once.
    let mut late = connect(&world, "?after=0").await;
    assert_eq!(late.next_json().await["type"], "hello");
    assert_eq!(late.next_json().await["type"], "stale");
    world.store.fail(None);
    assert_eq!(socket.next_json().await, json!({"type": "fresh"}));
    world.add("sell tea").await;
    assert_eq!(socket.numbers(1).await, [1]);
    assert_eq!(late.numbers(1).await, [1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_frames_end_one_conversation_and_no_other() {
    let mut limits = ServerLimits::default();
    limits.frames = 50;
    let world = World::with(limits).await;
    let mut good = connect(&world, "").await;
    assert_eq!(good.next_json().await["type"], "hello");

    // Nonsense is answered, and nothing else happens.
    let mut socket = connect(&world, "").await;
    assert_eq!(socket.next_json().await["type"], "hello");
    for nonsense in [
        "",
        "x",
        "[]",
        "{}",
        "{\"type\":\"subscribe\",\"after\":-1}",
        "{\"type\":\"subscribe\",\"evil\":1}",
        "{\"type\":\"drop\"}",
    ] {
        socket.stream.send(Message::text(nonsense)).await.unwrap();
        assert_eq!(socket.next_json().await["type"], "error", "{nonsense}");
    }
    socket
        .stream
        .send(Message::binary(vec![0, 1]))
        .await
        .unwrap();
    assert_eq!(socket.closed().await.unwrap().0, 1003);

    // Too long, whole or in pieces.
    let mut socket = connect(&world, "").await;
    let long = Message::text("x".repeat(100_000));
    let _ = socket.stream.send(long).await;
    socket.closed().await;

    // A flood of pings.
    let mut socket = connect(&world, "").await;
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

    // Bytes that are no frames: unmasked, reserved bits, an endless length.
    for bytes in [
        &b"\x81\x02hi"[..],
        &b"\xf1\x80\0\0\0\0"[..],
        &b"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0"[..],
    ] {
        let mut socket = connect(&world, "").await;
        assert_eq!(socket.next_json().await["type"], "hello");
        socket.stream.get_mut().write_all(bytes).await.unwrap();
        socket.closed().await;
    }

    world.add("sell tea").await;
    assert_eq!(good.numbers(1).await, [1]);
}

#[tokio::test]
async fn hostile_handshakes_are_refused() {
    let world = World::new().await;
    // A handshake with a head of a megabyte, and numbers that are none.
    let upgrade = |query: &str| {
        super::client::Request::upgrade(&format!("/api/v1/ws{query}"))
            .header("Host", &world.host())
            .header("x-api-key", world.token())
    };
    let long = upgrade("").header("X", &"a".repeat(1 << 20));
    assert!(
        raw(world.addr(), &long.bytes())
            .await
            .is_none_or(|reply| reply.status == 431)
    );
    for query in [
        "?after=-1",
        "?after=x",
        "?after=18446744073709551616",
        "?project=x",
        "?evil=1",
    ] {
        let reply = raw(world.addr(), &upgrade(query).bytes()).await.unwrap();
        assert_eq!(reply.status, 400, "{query}");
    }
    let far = raw(world.addr(), &upgrade("?after=9223372036854775808").bytes())
        .await
        .unwrap();
    assert_eq!(far.status, 101);
}
