//! Half-open connections do not keep authenticated clients out.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};
use windlass_server::ServerLimits;

use super::client::raw;
use super::harness::{Harness, raise_file_limit};
use super::ws::connect;

const FLOOD: usize = 10_000;
/// The client addresses of the flood: 127.0.0.2 and the following ones.
const ADDRESSES: usize = 20;
/// The longest time that the server waits for the rest of a request, far longer than the test runs.
const DEADLINE: Duration = Duration::from_secs(3600);

/// Opens a connection and sends the beginning of a request.
async fn open_half(server: SocketAddr, number: usize) -> TcpStream {
    let last = u8::try_from(2 + number % ADDRESSES).unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    let own = SocketAddr::new(IpAddr::from([127, 0, 0, last]), 0);
    socket.bind(own).unwrap();
    let mut stream = socket.connect(server).await.unwrap();
    let start = match number % 3 {
        0 => String::new(),
        1 => "GET / HT".to_owned(),
        _ => format!(
            "POST /api/v1/session HTTP/1.1\r\nHost: {server}\r\nContent-Type: application/json\r\n\
             Content-Length: 100\r\n\r\n{{"
        ),
    };
    // The server may have closed it in favor of a newer one.
    let _ = stream.write_all(start.as_bytes()).await;
    stream
}

/// Returns `true` if the server has not closed a connection.
fn is_open(stream: &TcpStream) -> bool {
    let read = stream.try_read(&mut [0; 256]);
    matches!(read, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
}

/// Waits until at most this many connections are open, and returns their number.
async fn settle(flood: &[TcpStream], max: usize) -> usize {
    loop {
        let open = flood.iter().filter(|stream| is_open(stream)).count();
        if open <= max {
            return open;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p12_ten_thousand_half_open_connections_do_not_delay_an_authenticated_client() {
    raise_file_limit(FLOOD);
    let mut limits = ServerLimits::default();
    limits.head_time = DEADLINE;
    limits.body_time = DEADLINE;
    let harness = Harness::with(limits.clone()).await;
    let mut socket = connect(&harness, "").await;
    assert_eq!(socket.next_json().await["type"], "hello");

    let health = harness.request("GET", "/health").bytes();
    let mut flood = Vec::with_capacity(FLOOD);
    let mut slowest = Duration::ZERO;
    for number in 0..FLOOD {
        flood.push(open_half(harness.addr(), number).await);
        // Some requests come from an address of the flood itself.
        if number % 500 == 499 || number + 1 == FLOOD {
            let asked = tokio::time::Instant::now();
            let response = raw(harness.addr(), &health).await.unwrap();
            slowest = slowest.max(asked.elapsed());
            assert_eq!(response.status, 200, "{response:?}");
        }
    }
    // The answers came although no connection has reached its deadline: many are still half open.
    let open = settle(&flood, limits.connections / 4).await;
    println!("{open} of {FLOOD} half-open connections are open; slowest answer {slowest:?}");
    assert!(open > 0);
    // The newest are open, the oldest were closed.
    assert!(!is_open(&flood[0]) && is_open(&flood[FLOOD - 1]));
    // Existing connections of authenticated clients are not affected.
    harness.broadcast(1, 3).await;
    assert_eq!(socket.next_json().await["seq"], json!(1));
}

#[tokio::test]
async fn p12_flood_from_one_address_closes_only_its_own_connections() {
    let mut limits = ServerLimits::default();
    limits.head_time = DEADLINE;
    limits.connections = 64;
    let harness = Harness::with(limits).await;
    // 16 connections without authentication, 8 of them per address.
    let quiet = open_half(harness.addr(), 3).await;
    let mut flood = Vec::new();
    for _ in 0..100 {
        flood.push(open_half(harness.addr(), 0).await);
    }
    assert_eq!(harness.get("/health").await.status, 200);
    assert!(is_open(&quiet));
    settle(&flood, 8).await;
}
