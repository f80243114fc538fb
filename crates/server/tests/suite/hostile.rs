//! What no honest client sends.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_server::ServerLimits;

use super::client::raw;
use super::world::World;

fn quick() -> ServerLimits {
    let mut limits = ServerLimits::default();
    limits.head_time = Duration::from_millis(300);
    limits.body_time = Duration::from_millis(300);
    limits.body_bytes = 1 << 20;
    limits
}

#[tokio::test]
async fn p12_a_body_has_an_end() {
    let world = World::with(quick()).await;
    let head = |rest: &str| {
        let (host, token) = (world.host(), world.token());
        format!(
            "POST /api/v1/tasks HTTP/1.1\r\nHost: {host}\r\nx-api-key: {token}\r\n\
             Content-Type: application/json\r\nConnection: close\r\n{rest}"
        )
    };
    // Said to be long: refused before a byte of it is read.
    let said = head("Content-Length: 1073741824\r\n\r\n");
    let reply = raw(world.addr(), said.as_bytes()).await.unwrap();
    assert_eq!((reply.status, reply.code().as_str()), (413, "too_large"));
    // Not said, but long.
    let mut endless = head("Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for _ in 0..40 {
        endless.extend_from_slice(b"8000\r\n");
        endless.extend_from_slice(&[b' '; 0x8000]);
        endless.extend_from_slice(b"\r\n");
    }
    let reply = raw(world.addr(), &endless).await;
    assert!(reply.is_none_or(|reply| reply.status == 413));
    // Said to come, and never sent.
    let slow = head("Content-Length: 100\r\n\r\n{");
    let reply = raw(world.addr(), slow.as_bytes()).await.unwrap();
    assert_eq!((reply.status, reply.code().as_str()), (408, "slow_body"));
    // Packed: a small bomb may be a large body.
    let packed = head("Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}");
    assert_eq!(
        raw(world.addr(), packed.as_bytes()).await.unwrap().status,
        415
    );
    // Two lengths are none.
    let both = head("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n");
    let reply = raw(world.addr(), both.as_bytes()).await;
    assert!(reply.is_none_or(|reply| reply.status == 400));
    let two = head("Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x");
    assert_eq!(raw(world.addr(), two.as_bytes()).await.unwrap().status, 400);
    assert_eq!(world.get("/health").await.status, 200);
}

#[tokio::test]
async fn p12_a_head_has_an_end_in_bytes_lines_and_time() {
    let world = World::with(quick()).await;
    let host = world.host();
    let long = format!(
        "GET / HTTP/1.1\r\nHost: {host}\r\nX: {}\r\n\r\n",
        "a".repeat(1 << 20)
    );
    let reply = raw(world.addr(), long.as_bytes()).await;
    assert!(reply.is_none_or(|reply| reply.status == 431));
    let many = format!(
        "GET / HTTP/1.1\r\nHost: {host}\r\n{}\r\n",
        "X: a\r\n".repeat(500)
    );
    let reply = raw(world.addr(), many.as_bytes()).await;
    assert!(reply.is_none_or(|reply| [400, 431].contains(&reply.status)));
    // A byte now and then keeps nobody's place: the server closes.
    let mut stream = TcpStream::connect(world.addr()).await.unwrap();
    stream.write_all(b"GET / HT").await.unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
    // Neither does one who says nothing at all.
    let mut silent = TcpStream::connect(world.addr()).await.unwrap();
    let _ = silent.read_to_end(&mut rest).await;
    assert_eq!(world.get("/health").await.status, 200);
}

#[tokio::test]
async fn p12_more_connections_than_there_is_room_for_wait() {
    let mut limits = quick();
    limits.connections = 8;
    let world = World::with(limits).await;
    let mut idle = Vec::new();
    for _ in 0..100 {
        idle.push(TcpStream::connect(world.addr()).await.unwrap());
    }
    // Those who say nothing lose their places one after the other; then it is our turn.
    assert_eq!(world.get("/health").await.status, 200);
    drop(idle);
}

#[tokio::test]
async fn bodies_that_do_not_fit_are_refused_with_a_sentence() {
    let world = World::new().await;
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
        "{\"title\":\"a\",\"workflow_step\":0}",
        "{\"title\":\"a\",\"max_attempts\":0}",
        "{\"title\":\"a\",\"project_id\":99}",
        "{\"title\":\"a\",\"dependencies\":[99]}",
        "{\"title\":\"a\",\"command\":\"rm\"}",
        "{\"title\":\"a\",\"kind\":\"evil\"}",
        "{\"title\":\"a\",\"title\":\"b\"}",
        "{\"title\":\"a\",\"priority\":1e999}",
        &deep,
    ];
    for body in bodies {
        let request = world
            .request("POST", "/tasks")
            .header("Content-Type", "application/json");
        let reply = world.send(request.with(body)).await;
        let cut = &body[..body.len().min(60)];
        assert!([400, 404].contains(&reply.status), "{cut}: {reply:?}");
        assert!(!reply.code().is_empty(), "{cut}: {reply:?}");
    }
    let plain = world
        .request("POST", "/tasks")
        .header("Content-Type", "text/plain");
    assert_eq!(
        world.send(plain.with("{\"title\":\"a\"}")).await.status,
        415
    );
    assert_eq!(world.get("/tasks").await.json(), json!([]));
}

#[tokio::test]
async fn questions_that_do_not_fit_are_refused_with_a_sentence() {
    let world = World::new().await;
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
        let reply = world.get(path).await;
        assert_eq!(reply.status, status, "{path}: {reply:?}");
        if status != 200 {
            assert!(!reply.code().is_empty(), "{path}: {reply:?}");
        }
    }
    let misfit = format!("{:?}", world.get("/events?after=-1").await);
    assert!(misfit.contains("the query does not fit: after"), "{misfit}");
    let wrong = world.send(world.request("DELETE", "/tasks").bytes()).await;
    assert_eq!(
        (wrong.status, wrong.code().as_str()),
        (405, "method_not_allowed")
    );
}
