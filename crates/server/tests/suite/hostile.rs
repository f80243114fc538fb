//! Hostile and malformed requests.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_server::ServerLimits;

use super::client::raw;
use super::harness::Harness;

fn short_limits() -> ServerLimits {
    let mut limits = ServerLimits::default();
    limits.head_time = Duration::from_millis(300);
    limits.body_time = Duration::from_millis(300);
    limits.body_bytes = 1 << 20;
    limits
}

#[tokio::test]
async fn p12_body_is_limited_in_size_and_time() {
    let harness = Harness::with(short_limits()).await;
    let head = |rest: &str| {
        let (host, token) = (harness.host(), harness.token());
        format!(
            "POST /api/v1/tasks HTTP/1.1\r\nHost: {host}\r\nx-api-key: {token}\r\n\
             Content-Type: application/json\r\nConnection: close\r\n{rest}"
        )
    };
    // Declared as long: rejected before any of it is read.
    let declared = head("Content-Length: 1073741824\r\n\r\n");
    let response = raw(harness.addr(), declared.as_bytes()).await.unwrap();
    assert_eq!(
        (response.status, response.code().as_str()),
        (413, "too_large")
    );
    // Not declared, but long.
    let mut endless = head("Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for _ in 0..40 {
        endless.extend_from_slice(b"8000\r\n");
        endless.extend_from_slice(&[b' '; 0x8000]);
        endless.extend_from_slice(b"\r\n");
    }
    let response = raw(harness.addr(), &endless).await;
    assert!(response.is_none_or(|response| response.status == 413));
    // Declared, but never sent.
    let slow = head("Content-Length: 100\r\n\r\n{");
    let response = raw(harness.addr(), slow.as_bytes()).await.unwrap();
    assert_eq!(
        (response.status, response.code().as_str()),
        (408, "slow_body")
    );
    // Compressed: a small body may expand to a large one.
    let packed = head("Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}");
    assert_eq!(
        raw(harness.addr(), packed.as_bytes()).await.unwrap().status,
        415
    );
    // Contradictory lengths are rejected.
    let both = head("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n");
    let response = raw(harness.addr(), both.as_bytes()).await;
    assert!(response.is_none_or(|response| response.status == 400));
    let two = head("Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x");
    assert_eq!(
        raw(harness.addr(), two.as_bytes()).await.unwrap().status,
        400
    );
    assert_eq!(harness.get("/health").await.status, 200);
}

#[tokio::test]
async fn p12_headers_are_limited_in_bytes_number_and_time() {
    let harness = Harness::with(short_limits()).await;
    let host = harness.host();
    let long = format!(
        "GET / HTTP/1.1\r\nHost: {host}\r\nX: {}\r\n\r\n",
        "a".repeat(1 << 20)
    );
    let response = raw(harness.addr(), long.as_bytes()).await;
    assert!(response.is_none_or(|response| response.status == 431));
    let many = format!(
        "GET / HTTP/1.1\r\nHost: {host}\r\n{}\r\n",
        "X: a\r\n".repeat(500)
    );
    let response = raw(harness.addr(), many.as_bytes()).await;
    assert!(response.is_none_or(|response| [400, 431].contains(&response.status)));
    // An incomplete request does not keep its connection: the server closes it.
    let mut stream = TcpStream::connect(harness.addr()).await.unwrap();
    stream.write_all(b"GET / HT").await.unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
    // A silent connection does not stay open either.
    let mut silent = TcpStream::connect(harness.addr()).await.unwrap();
    let _ = silent.read_to_end(&mut rest).await;
    assert_eq!(harness.get("/health").await.status, 200);
}

#[tokio::test]
async fn p12_connections_over_the_limit_wait() {
    let mut limits = short_limits();
    limits.connections = 8;
    let harness = Harness::with(limits).await;
    let mut idle = Vec::new();
    for _ in 0..100 {
        idle.push(TcpStream::connect(harness.addr()).await.unwrap());
    }
    // The idle connections are closed one by one; then the request is accepted.
    assert_eq!(harness.get("/health").await.status, 200);
    drop(idle);
}

#[tokio::test]
async fn invalid_bodies_are_rejected_with_a_message() {
    let harness = Harness::new().await;
    let deep = format!(
        "{{\"title\":{}1{}}}",
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    let bodies = [
        "",
        "x",
        "[]",
        "null",
        "{}",
        "{\"title\":1}",
        "{\"title\":\"\"}",
        "{\"title\":\"  \"}",
        "{\"title\":\"a\",\"priority\":9}",
        "{\"title\":\"a\",\"max_attempts\":101}",
        "{\"title\":\"a\",\"max_attempts\":4294967295}",
        "{\"title\":\"a\",\"workflow_step\":0}",
        "{\"title\":\"a\",\"max_attempts\":0}",
        "{\"title\":\"a\",\"max_attempts\":101}",
        "{\"title\":\"a\",\"max_attempts\":4294967295}",
        "{\"title\":\"a\",\"project_id\":99}",
        "{\"title\":\"a\",\"dependencies\":[99]}",
        "{\"title\":\"a\",\"command\":\"rm\"}",
        "{\"title\":\"a\",\"kind\":\"evil\"}",
        "{\"title\":\"a\",\"title\":\"b\"}",
        "{\"title\":\"a\",\"priority\":1e999}",
        &deep,
    ];
    for body in bodies {
        let request = harness
            .request("POST", "/tasks")
            .header("Content-Type", "application/json");
        let response = harness.send(request.with(body)).await;
        let start = &body[..body.len().min(60)];
        assert!(
            [400, 404].contains(&response.status),
            "{start}: {response:?}"
        );
        assert!(!response.code().is_empty(), "{start}: {response:?}");
    }
    let plain = harness
        .request("POST", "/tasks")
        .header("Content-Type", "text/plain");
    assert_eq!(
        harness.send(plain.with("{\"title\":\"a\"}")).await.status,
        415
    );
    assert_eq!(harness.get("/tasks").await.json(), json!([]));
}

#[tokio::test]
async fn invalid_paths_and_queries_are_rejected_with_a_message() {
    let harness = Harness::new().await;
    let paths = [
        ("/tasks?status=x", 400),
        ("/tasks?limit=-1", 400),
        ("/tasks?token=x", 400),
        ("/tasks/x", 404),
        ("/tasks/-1", 404),
        ("/tasks/99", 404),
        ("/tasks/99999999999999999999", 404),
        ("/tasks/1%2f2", 404),
        ("/tasks/%2e%2e", 404),
        ("//tasks", 404),
        ("/tasks/99/events", 404),
        ("/tasks/99/attempts", 404),
        ("/tasks/99/proof", 404),
        ("/events?after=-1", 400),
        ("/events?after=18446744073709551616", 400),
        ("/events?after=9223372036854775808", 200),
        ("/events?limit=4294967295", 200),
        ("/traces/nothing", 404),
        ("/traces/%00", 404),
        ("/nowhere", 404),
        ("/ws", 426),
    ];
    for (path, status) in paths {
        let response = harness.get(path).await;
        assert_eq!(response.status, status, "{path}: {response:?}");
        if status != 200 {
            assert!(!response.code().is_empty(), "{path}: {response:?}");
        }
    }
    let invalid = format!("{:?}", harness.get("/events?after=-1").await);
    assert!(invalid.contains("invalid query: after"), "{invalid}");
    let wrong = harness
        .send(harness.request("DELETE", "/tasks").bytes())
        .await;
    assert_eq!(
        (wrong.status, wrong.code().as_str()),
        (405, "method_not_allowed")
    );
}
