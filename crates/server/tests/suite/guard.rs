//! The guard: every method with every host, origin and token, over a real socket.

use super::client::{Request, raw};
use super::harness::Harness;

type Headers = Vec<(String, String)>;

fn one(name: &str, value: impl Into<String>) -> Headers {
    vec![(name.to_owned(), value.into())]
}

/// Hosts, and whether each is allowed.
fn hosts(harness: &Harness) -> Vec<(Headers, bool)> {
    let (own, port) = (harness.host(), harness.addr().port());
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

/// Origins for a host, and whether each is allowed.
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

/// Tokens, and whether each is valid.
async fn tokens(harness: &Harness) -> Vec<(Headers, bool)> {
    let token = harness.token();
    let session = harness
        .post("/session", &serde_json::json!({"token": token}))
        .await;
    assert_eq!(session.status, 204, "{session:?}");
    let cookie = session.header("set-cookie").unwrap().to_owned();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    assert!(!cookie.contains(token), "the cookie is not the token");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let bearer = |value: &str| one("Authorization", format!("Bearer {value}"));
    let from_other_site = [one("Cookie", &cookie), one("Sec-Fetch-Site", "same-site")].concat();
    vec![
        (Vec::new(), false),
        (bearer(token), true),
        (one("x-api-key", token), true),
        (one("Cookie", format!("other=1; {cookie}")), true),
        (from_other_site, false),
        (bearer(&token[..63]), false),
        (bearer(&"a".repeat(64)), false),
        (bearer(&"a".repeat(5000)), false),
        (bearer("' OR '1'='1"), false),
        (one("Authorization", format!("Basic {token}")), false),
        (
            one(
                "Cookie",
                format!("windlass-{}={token}", harness.addr().port()),
            ),
            false,
        ),
        (one("x-api-key", ""), false),
    ]
}

/// Requests a path that does not exist: a 404 means that the guard accepted the request.
async fn check_case(harness: &Harness, method: &str, headers: &[(String, String)], expected: u16) {
    let request = Request::new(method, "/api/v1/nowhere").headers(headers);
    let response = raw(harness.addr(), &request.bytes()).await.unwrap();
    assert_eq!(
        response.status, expected,
        "{method} {headers:?}: {response:?}"
    );
    let head = response.head.to_ascii_lowercase();
    assert!(
        !head.contains("access-control-"),
        "no other origin is allowed: {response:?}"
    );
    assert!(!response.body.contains(harness.token()), "{response:?}");
}

#[tokio::test]
async fn p22_token_in_the_url_is_not_accepted() {
    let harness = Harness::new().await;
    for target in [
        "/api/v1/health?token=",
        "/api/v1/ws?token=",
        "/api/v1/tasks?access_token=",
    ] {
        let target = format!("{target}{}", harness.token());
        for request in [Request::new("GET", &target), Request::upgrade(&target)] {
            let request = request.header("Host", &harness.host());
            let response = raw(harness.addr(), &request.bytes()).await.unwrap();
            assert_eq!(response.status, 401, "{response:?}");
        }
    }
}

#[tokio::test]
async fn p22_request_line_with_another_host_is_rejected() {
    let harness = Harness::new().await;
    let own = format!("http://{}/api/v1/health", harness.host());
    for (target, status) in [
        (own.as_str(), 200),
        ("http://evil.example/api/v1/health", 403),
    ] {
        let request = Request::new("GET", target)
            .header("Host", &harness.host())
            .header("x-api-key", harness.token());
        let response = raw(harness.addr(), &request.bytes()).await.unwrap();
        assert_eq!(response.status, status, "{target}: {response:?}");
    }
}

#[tokio::test]
async fn p22_p24_dashboard_needs_no_token_and_has_security_headers() {
    let harness = Harness::new().await;
    let page = |path: &str| {
        Request::new("GET", path)
            .header("Host", &harness.host())
            .bytes()
    };
    let response = harness.send(page("/")).await;
    assert_eq!(response.status, 200, "{response:?}");
    let policy = response.header("content-security-policy").unwrap();
    for directive in [
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ] {
        assert!(policy.contains(directive), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(response.header("referrer-policy"), Some("no-referrer"));
    let tag = response.header("etag").unwrap();
    let revalidation = Request::new("GET", "/")
        .header("Host", &harness.host())
        .header("If-None-Match", tag);
    assert_eq!(harness.send(revalidation.bytes()).await.status, 304);
    for path in [
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "//etc/passwd",
        "/..%2fsrc/lib.rs",
        "/css/../../src/lib.rs",
        "/x.js",
    ] {
        let response = harness.send(page(path)).await;
        assert_eq!(response.status, 404, "{path}: {response:?}");
        assert!(
            !response.body.contains("[package]") && !response.body.contains("root:"),
            "{response:?}"
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
        assert_eq!(harness.send(page(path)).await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn p22_login_accepts_only_the_token_and_logout_deletes_the_cookie() {
    let harness = Harness::new().await;
    let wrong = harness
        .post("/session", &serde_json::json!({"token": "x"}))
        .await;
    assert_eq!((wrong.status, wrong.header("set-cookie")), (401, None));
    let big = serde_json::json!({"token": "x".repeat(5000)});
    assert_eq!(harness.post("/session", &big).await.status, 413);
    let logout = harness
        .send(harness.request("DELETE", "/session").bytes())
        .await;
    assert_eq!(logout.status, 204);
    assert!(logout.header("set-cookie").unwrap().contains("Max-Age=0"));
}

#[tokio::test]
async fn p22_model_clients_are_rejected_in_their_own_dialect() {
    let harness = Harness::new().await;
    let ask = async |path: &str, host: &str, token: &str| {
        let request = Request::new("POST", path)
            .header("Host", host)
            .header("x-api-key", token);
        raw(harness.addr(), &request.with("{}")).await.unwrap()
    };
    let (host, token) = (harness.host(), harness.token());
    for (host, token, status) in [
        (host.as_str(), "wrong", 401),
        ("evil.example", token, 403),
        (host.as_str(), token, 404),
    ] {
        // No agent API is mounted, so an accepted request gets 404, in the client's dialect too.
        let openai = ask("/v1/chat/completions", host, token).await;
        assert_eq!(openai.status, status, "{openai:?}");
        assert!(openai.json()["error"]["message"].is_string(), "{openai:?}");
        assert!(openai.json()["error"]["type"].is_string(), "{openai:?}");
        if status == 401 {
            assert_eq!(openai.json()["error"]["code"], "invalid_api_key");
        }
        let anthropic = ask("/v1/messages", host, token).await;
        assert_eq!(anthropic.status, status, "{anthropic:?}");
        assert_eq!(anthropic.json()["type"], "error", "{anthropic:?}");
        let ollama = ask("/api/chat", host, token).await;
        assert_eq!(ollama.status, status, "{ollama:?}");
        assert!(ollama.json()["error"].is_string(), "{ollama:?}");
    }
}

mod exhaustive {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn p22_guard_checks_every_combination() {
        const METHODS: [&str; 9] = [
            "GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS", "TRACE", "BREW",
        ];
        let harness = Harness::new().await;
        let tokens = tokens(&harness).await;
        let own = ("Host".to_owned(), harness.host());
        let mut cases = 0;
        for (host, is_host) in hosts(&harness) {
            for (origin, is_origin) in origins(&host) {
                for (token, is_token) in &tokens {
                    // A cookie is valid only for the host that it was issued for.
                    let has_cookie = token.iter().any(|(name, _)| name == "Cookie");
                    let is_other_host = host.first() != Some(&own);
                    let is_cookie_lost = has_cookie && is_other_host;
                    let is_token = *is_token && !is_cookie_lost;
                    let headers = [host.clone(), origin.clone(), token.clone()].concat();
                    let is_foreign_page =
                        token.iter().any(|(name, _)| name == "Sec-Fetch-Site") && !is_cookie_lost;
                    let requests = METHODS.iter().enumerate().map(|(index, method)| {
                        let expected = match (is_host && is_origin, index < 6, is_token) {
                            (false, ..) => 403,
                            (true, false, _) => 405,
                            (true, true, false) if is_foreign_page => 403,
                            (true, true, false) => 401,
                            (true, true, true) => 404,
                        };
                        check_case(&harness, method, &headers, expected)
                    });
                    cases += futures::future::join_all(requests).await.len();
                    let request = Request::upgrade("/api/v1/ws").headers(&headers);
                    let response = raw(harness.addr(), &request.bytes()).await.unwrap();
                    let is_allowed = is_host && is_origin && is_token;
                    assert_eq!(
                        response.status == 101,
                        is_allowed,
                        "{headers:?}: {response:?}"
                    );
                    assert!(
                        is_allowed || [401, 403].contains(&response.status),
                        "{response:?}"
                    );
                    cases += 1;
                }
            }
        }
        assert_eq!(cases, 12 * 7 * 12 * 10);
    }
}
