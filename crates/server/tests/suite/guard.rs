//! Who may come in: every method with every host, origin and token, over a real socket.

use super::client::{Request, raw};
use super::world::World;

type Headers = Vec<(String, String)>;

fn one(name: &str, value: impl Into<String>) -> Headers {
    vec![(name.to_owned(), value.into())]
}

/// Hosts, and whether each is ours.
fn hosts(world: &World) -> Vec<(Headers, bool)> {
    let (own, port) = (world.host(), world.addr().port());
    let host = |value: String| one("Host", value);
    vec![
        (host(own.clone()), true),
        (host(format!("localhost:{port}")), true),
        (host(format!("[::1]:{port}")), true),
        (Vec::new(), false),
        (host(String::new()), false),
        (host("evil.example".to_owned()), false),
        (host(format!("evil.example:{port}")), false),
        (host(format!("127.0.0.1:{}", port ^ 1)), false),
        (host("127.0.0.1".to_owned()), false),
        (host(format!("{own}/#@evil.example")), false),
        (
            [host(own.clone()), host("evil.example".to_owned())].concat(),
            false,
        ),
        ([host("evil.example".to_owned()), host(own)].concat(), false),
    ]
}

/// Origins for a host, and whether each is ours.
fn origins(host: &Headers) -> Vec<(Headers, bool)> {
    let own = host
        .first()
        .map(|(_, value)| value.clone())
        .unwrap_or_default();
    let origin = |value: String| one("Origin", value);
    vec![
        (Vec::new(), true),
        (origin(format!("http://{own}")), true),
        (origin("null".to_owned()), false),
        (origin("http://evil.example".to_owned()), false),
        (origin(format!("https://{own}")), false),
        (origin("http://127.0.0.1:1".to_owned()), false),
        (
            [
                origin(format!("http://{own}")),
                origin("http://evil.example".to_owned()),
            ]
            .concat(),
            false,
        ),
    ]
}

/// Tokens, and whether each opens.
async fn tokens(world: &World) -> Vec<(Headers, bool)> {
    let token = world.token();
    let session = world
        .post("/session", &serde_json::json!({"token": token}))
        .await;
    assert_eq!(session.status, 204, "{session:?}");
    let cookie = session.header("set-cookie").unwrap().to_owned();
    for word in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    assert!(!cookie.contains(token), "the cookie is not the token");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let bearer = |value: &str| one("Authorization", format!("Bearer {value}"));
    let from_elsewhere = [one("Cookie", &cookie), one("Sec-Fetch-Site", "same-site")].concat();
    vec![
        (Vec::new(), false),
        (bearer(token), true),
        (one("x-api-key", token), true),
        (one("Cookie", format!("other=1; {cookie}")), true),
        (from_elsewhere, false),
        (bearer(&token[..63]), false),
        (bearer(&"a".repeat(64)), false),
        (bearer(&"a".repeat(5000)), false),
        (bearer("' OR '1'='1"), false),
        (one("Authorization", format!("Basic {token}")), false),
        (
            one(
                "Cookie",
                format!("windlass-{}={token}", world.addr().port()),
            ),
            false,
        ),
        (one("x-api-key", ""), false),
    ]
}

/// Asks for a path that is not there: 404 says that the guard let somebody through.
async fn cell(world: &World, method: &str, headers: &[(String, String)], expected: u16) {
    let request = Request::new(method, "/api/v1/nowhere").headers(headers);
    let reply = raw(world.addr(), &request.bytes()).await.unwrap();
    assert_eq!(reply.status, expected, "{method} {headers:?}: {reply:?}");
    let head = reply.head.to_ascii_lowercase();
    assert!(
        !head.contains("access-control-"),
        "no other origin is let in: {reply:?}"
    );
    assert!(!reply.body.contains(world.token()), "{reply:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p22_every_cell_of_the_guard_table() {
    const METHODS: [&str; 9] = [
        "GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS", "TRACE", "BREW",
    ];
    let world = World::new().await;
    let tokens = tokens(&world).await;
    let mut cells = 0;
    for (host, is_host) in hosts(&world) {
        for (origin, is_origin) in origins(&host) {
            for (token, is_token) in &tokens {
                let headers = [host.clone(), origin.clone(), token.clone()].concat();
                let is_foreign_page = token.iter().any(|(name, _)| name == "Sec-Fetch-Site");
                let asked = METHODS.iter().enumerate().map(|(place, method)| {
                    let expected = match (is_host && is_origin, place < 4, is_token) {
                        (false, ..) => 403,
                        (true, false, _) => 405,
                        (true, true, false) if is_foreign_page => 403,
                        (true, true, false) => 401,
                        (true, true, true) => 404,
                    };
                    cell(&world, method, &headers, expected)
                });
                cells += futures::future::join_all(asked).await.len();
                let request = Request::upgrade("/api/v1/ws").headers(&headers);
                let reply = raw(world.addr(), &request.bytes()).await.unwrap();
                let is_let_in = is_host && is_origin && *is_token;
                assert_eq!(reply.status == 101, is_let_in, "{headers:?}: {reply:?}");
                assert!(is_let_in || [401, 403].contains(&reply.status), "{reply:?}");
                cells += 1;
            }
        }
    }
    assert_eq!(cells, 12 * 7 * 12 * 10);
}

#[tokio::test]
async fn p22_a_token_in_the_address_opens_nothing() {
    let world = World::new().await;
    for target in [
        "/api/v1/health?token=",
        "/api/v1/ws?token=",
        "/api/v1/tasks?access_token=",
    ] {
        let target = format!("{target}{}", world.token());
        for request in [Request::new("GET", &target), Request::upgrade(&target)] {
            let request = request.header("Host", &world.host());
            let reply = raw(world.addr(), &request.bytes()).await.unwrap();
            assert_eq!(reply.status, 401, "{reply:?}");
        }
    }
}

#[tokio::test]
async fn p22_a_request_line_that_names_another_host_is_refused() {
    let world = World::new().await;
    let own = format!("http://{}/api/v1/health", world.host());
    for (target, status) in [
        (own.as_str(), 200),
        ("http://evil.example/api/v1/health", 403),
    ] {
        let request = Request::new("GET", target)
            .header("Host", &world.host())
            .header("x-api-key", world.token());
        let reply = raw(world.addr(), &request.bytes()).await.unwrap();
        assert_eq!(reply.status, status, "{target}: {reply:?}");
    }
}

#[tokio::test]
async fn p22_p24_the_page_is_open_and_sealed() {
    let world = World::new().await;
    let page = |path: &str| {
        Request::new("GET", path)
            .header("Host", &world.host())
            .bytes()
    };
    let reply = world.send(page("/")).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let policy = reply.header("content-security-policy").unwrap();
    for word in [
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ] {
        assert!(policy.contains(word), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
    let tag = reply.header("etag").unwrap();
    let again = Request::new("GET", "/")
        .header("Host", &world.host())
        .header("If-None-Match", tag);
    assert_eq!(world.send(again.bytes()).await.status, 304);
    for path in [
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "//etc/passwd",
        "/..%2fsrc/lib.rs",
        "/css/../../src/lib.rs",
        "/x.js",
    ] {
        let reply = world.send(page(path)).await;
        assert_eq!(reply.status, 404, "{path}: {reply:?}");
        assert!(
            !reply.body.contains("[package]") && !reply.body.contains("root:"),
            "{reply:?}"
        );
    }
    for path in [
        "/api",
        "/api/",
        "/api/v1",
        "/v1",
        "/v1/models",
        "/api/tags",
        "/api/v1/openapi.json",
    ] {
        assert_eq!(world.send(page(path)).await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn p22_the_door_takes_only_the_token_and_gives_it_back() {
    let world = World::new().await;
    let wrong = world
        .post("/session", &serde_json::json!({"token": "x"}))
        .await;
    assert_eq!((wrong.status, wrong.header("set-cookie")), (401, None));
    let big = serde_json::json!({"token": "x".repeat(5000)});
    assert_eq!(world.post("/session", &big).await.status, 413);
    let left = world
        .send(world.request("DELETE", "/session").bytes())
        .await;
    assert_eq!(left.status, 204);
    assert!(left.header("set-cookie").unwrap().contains("Max-Age=0"));
}

#[tokio::test]
async fn p22_clients_of_models_are_refused_in_their_own_dialect() {
    let world = World::new().await;
    let ask = async |path: &str, host: &str, token: &str| {
        let request = Request::new("POST", path)
            .header("Host", host)
            .header("x-api-key", token);
        raw(world.addr(), &request.with("{}")).await.unwrap()
    };
    let (host, token) = (world.host(), world.token());
    for (host, token, status) in [
        (host.as_str(), "wrong", 401),
        ("evil.example", token, 403),
        (host.as_str(), token, 404),
    ] {
        // Nothing is mounted here, so who is let in finds nothing; in the dialect too.
        let openai = ask("/v1/chat/completions", host, token).await;
        assert_eq!(openai.status, status, "{openai:?}");
        assert!(openai.json()["error"]["message"].is_string(), "{openai:?}");
        assert!(openai.json()["error"]["type"].is_string(), "{openai:?}");
        let anthropic = ask("/v1/messages", host, token).await;
        assert_eq!(anthropic.status, status, "{anthropic:?}");
        assert_eq!(anthropic.json()["type"], "error", "{anthropic:?}");
        let ollama = ask("/api/chat", host, token).await;
        assert_eq!(ollama.status, status, "{ollama:?}");
        assert!(ollama.json()["error"].is_string(), "{ollama:?}");
    }
}
