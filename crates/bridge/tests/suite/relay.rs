//! Calls pass unchanged, with the provider's key, and are counted.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use windlass_core::ExposeSecret;
use windlass_tasks::CallTokens;

use super::limits::LIMITED;
use super::provider::{KEY, Received, Setup, read_response, send, token};

/// With unusual spaces, order and an unknown field.
const REQUEST: &[u8] =
    b"{ \"stream\":true,  \"model\":\"m\",\"x\":{\"unknown\":[1, 2]}, \"messages\":[] }\n";
const CHUNKS: [&str; 3] = [
    "data: {\"model\":\"m-real\",\"odd\":  1,\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\n: note\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":20,\"prompt_tokens_details\":{\"cached_tokens\":40},",
    "\"completion_tokens_details\":{\"reasoning_tokens\":5}}}\n\ndata: [DONE]\n\n",
];

async fn stream_head(received: &mut Received) {
    received
        .answer("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: 7\r\ntransfer-encoding: chunked\r\n\r\n")
        .await;
}

async fn chunk(received: &mut Received, data: &str) {
    received
        .answer(&format!("{:x}\r\n{data}\r\n", data.len()))
        .await;
}

async fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains(text) {
        bytes.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn p18_bytes_pass_unchanged_with_the_key_of_the_provider() {
    let mut setup = Setup::new(Vec::new()).await;
    let access = setup.open();
    let mut agent = send(
        &access,
        &token(&access),
        "POST /chat/completions?a=%20b",
        REQUEST,
    )
    .await;
    let mut received = setup.next().await;
    assert!(
        received
            .head
            .starts_with("POST /api/v1/chat/completions?a=%20b HTTP/1.1\r\n"),
        "{}",
        received.head
    );
    let head = received.head.to_ascii_lowercase();
    assert!(head.contains(&format!("authorization: bearer {KEY}\r\n")));
    assert!(head.contains("x-own: 1\r\n") && !head.contains("accept-encoding"));
    assert!(!head.contains(&token(&access)) && !head.contains("connection: close"));
    assert_eq!(received.body, REQUEST);

    // The first chunk arrives before the second is sent.
    stream_head(&mut received).await;
    chunk(&mut received, CHUNKS[0]).await;
    let first = read_until(&mut agent, ": note\n\n").await;
    assert!(first.contains("x-request-id: 7"), "{first}");
    assert!(first.contains(CHUNKS[0]), "{first}");
    chunk(&mut received, CHUNKS[1]).await;
    read_until(&mut agent, CHUNKS[1]).await;
    chunk(&mut received, CHUNKS[2]).await;
    received.answer("0\r\n\r\n").await;
    let mut rest = String::new();
    agent.read_to_string(&mut rest).await.unwrap();
    assert!(rest.contains(CHUNKS[2]) && !rest.contains(KEY), "{rest}");

    let totals = setup.totals().await;
    assert_eq!(totals.len(), 1);
    let expected = CallTokens {
        input: 100,
        cache_read: 40,
        cache_write: 0,
        output: 20,
        reasoning: 5,
    };
    assert_eq!(totals[0].tokens, expected);
    assert_eq!((totals[0].calls, totals[0].not_done), (1, 0));
    // The model that answered has no price.
    assert_eq!((totals[0].cost_nanos, totals[0].unknown_cost), (0, 1));
}

#[tokio::test]
async fn p18_own_login_of_an_agent_passes_and_its_calls_are_counted_for_the_person() {
    let mut setup = Setup::new(Vec::new()).await;
    let access = setup.open_for_login();
    assert!(access.tokens.is_empty());
    let agent = send(&access, "own-login", "POST /messages", REQUEST).await;
    let mut received = setup.next().await;
    let head = received.head.to_ascii_lowercase();
    assert!(head.contains("authorization: bearer own-login\r\n"));
    assert_eq!(received.body, REQUEST);
    received.answer(&LIMITED.replace("3600", "60")).await;
    read_response(agent).await;
    assert_eq!(setup.totals().await[0].calls, 1);
    let limits = setup.store.calls.account_limits().await.unwrap();
    assert!(limits[0].account.ends_with("#ada"), "{limits:?}");
}

#[tokio::test]
async fn document_is_counted_with_its_cost() {
    let mut setup = Setup::new(Vec::new()).await;
    let access = setup.open();
    let agent = send(
        &access,
        &token(&access),
        "POST /messages",
        b"{\"model\":\"m\"}",
    )
    .await;
    let mut received = setup.next().await;
    let body = r#"{"model":"m","usage":{"input_tokens":60,"cache_read_input_tokens":40,"output_tokens":20}}"#;
    received
        .answer(&format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ))
        .await;
    let (head, found) = read_response(agent).await;
    assert_eq!(found, body);
    assert!(
        head.to_ascii_lowercase()
            .contains(&format!("content-length: {}", body.len()))
    );
    let totals = setup.totals().await;
    assert_eq!((totals[0].unknown_cost, totals[0].not_done), (0, 0));
    // 60 × 1 + 40 × 0.1 + 20 × 10, in millionths of a dollar.
    assert_eq!(totals[0].cost_nanos, 264_000);
}

#[tokio::test]
async fn side_calls_and_unknown_endpoints_pass() {
    let mut setup = Setup::new(Vec::new()).await;
    let access = setup.open();
    for (line, counted) in [
        ("GET /models", 0),
        ("POST /messages/count_tokens", 0),
        ("POST /embeddings", 1),
        ("DELETE /files/7", 1),
    ] {
        let agent = send(&access, &token(&access), line, b"{}").await;
        let mut received = setup.next().await;
        received
            .answer(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
            )
            .await;
        assert_eq!(read_response(agent).await.1, "{}");
        let calls: u64 = setup.totals().await.iter().map(|row| row.calls).sum();
        assert_eq!(calls, counted, "{line}");
    }
}

#[tokio::test]
async fn p18_token_is_valid_for_its_agent_and_its_time_only() {
    let setup = Setup::new(Vec::new()).await;
    let (access, other) = (setup.open(), setup.open());
    let status = async |line: &str, token: &str| {
        let stream = send(&access, token, line, b"{}").await;
        let (head, body) = read_response(stream).await;
        assert!(body.contains("\"error\""), "{body}");
        head[9..12].to_owned()
    };
    let own = token(&access);
    assert_eq!(status("POST /messages", &token(&other)).await, "401");
    assert_eq!(status("POST /messages", "none").await, "401");
    assert_eq!(status("POST /messages", KEY).await, "401");
    assert_eq!(status("GET /../../other", &own).await, "404");
    assert_ne!(access.url, other.url);
    assert!(!access.url.contains(&own), "arguments are public");
    let ended = setup.open();
    let (url, own) = (ended.url.clone(), token(&ended));
    drop(ended.lease);
    let ended = windlass_agents::bridge::BridgedAccess {
        url,
        tokens: Vec::new(),
        lease: windlass_agents::bridge::BridgeLease::new(()),
    };
    let (head, _) = read_response(send(&ended, &own, "POST /messages", b"{}").await).await;
    assert_eq!(&head[9..12], "404");
    assert!(setup.totals().await.is_empty());
}

#[tokio::test]
async fn provider_without_a_key_gets_none() {
    let mut setup = Setup::new(Vec::new()).await;
    let access = setup.open_with(Vec::new());
    assert_eq!(access.tokens.len(), 1);
    let agent = send(&access, &token(&access), "POST /messages", b"{}").await;
    let mut received = setup.next().await;
    assert!(!received.head.to_ascii_lowercase().contains("authorization"));
    received
        .answer("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        .await;
    assert!(read_response(agent).await.0.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn p19_error_of_the_provider_passes_without_the_key() {
    let mut setup = Setup::new(Vec::new()).await;
    let access = setup.open();
    let agent = send(
        &access,
        &token(&access),
        "POST /messages",
        b"{\"model\":\"m\"}",
    )
    .await;
    let mut received = setup.next().await;
    let body = format!("{{\"error\":\"bad key {KEY}\"}}");
    received
        .answer(&format!(
            "HTTP/1.1 429 Too Many\r\nretry-after: 3\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ))
        .await;
    let (head, body) = read_response(agent).await;
    assert!(
        head.starts_with("HTTP/1.1 429") && head.contains("retry-after: 3"),
        "{head}"
    );
    assert_eq!(body, "{\"error\":\"bad key [key]\"}");
    let totals = setup.totals().await;
    assert_eq!(
        (
            totals[0].not_done,
            totals[0].cost_nanos,
            totals[0].unknown_cost
        ),
        (1, 0, 0)
    );
}

#[tokio::test]
async fn unreachable_provider_is_an_error_of_the_api() {
    let mut setup = Setup::new(Vec::new()).await;
    let access = setup.open();
    let agent = send(
        &access,
        &token(&access),
        "POST /messages",
        b"{\"model\":\"m\"}",
    )
    .await;
    drop(setup.next().await);
    let (head, body) = read_response(agent).await;
    assert!(head.starts_with("HTTP/1.1 502"), "{head}");
    assert!(
        body.contains("\"type\":\"error\"") && !body.contains(KEY),
        "{body}"
    );
}

#[tokio::test]
async fn disconnected_agent_ends_the_call() {
    let mut setup = Setup::new(Vec::new()).await;
    let access = setup.open();
    let mut agent = send(&access, &token(&access), "POST /chat/completions", REQUEST).await;
    let mut received = setup.next().await;
    stream_head(&mut received).await;
    chunk(&mut received, CHUNKS[0]).await;
    read_until(&mut agent, ": note").await;
    drop(agent);
    // The provider sees the end too.
    let mut end = [0; 1];
    let ended = tokio::time::timeout(Duration::from_secs(10), received.stream.read(&mut end));
    let ended = ended.await.unwrap();
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    let totals = setup.totals().await;
    assert_eq!((totals[0].not_done, totals[0].unknown_tokens), (1, 1));
    assert_eq!(totals[0].unknown_cost, 1);
}

#[tokio::test]
async fn key_is_in_no_debug_output() {
    let setup = Setup::new(Vec::new()).await;
    let access = setup.open();
    let shown = format!("{:?} {access:?}", setup.bridge);
    assert!(!shown.contains(KEY) && !shown.contains(access.tokens[0].expose_secret()));
}
