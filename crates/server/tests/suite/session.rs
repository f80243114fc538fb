//! Sessions of browsers: bound to their server, and useless once they are closed.

use serde_json::json;
use windlass_server::ServerLimits;
use windlass_tasks::Scope;

use super::client::{Request, Response, raw};
use super::harness::{Harness, serve};
use super::ws::open_with;

/// Signs in and returns the cookie.
async fn sign_in(harness: &Harness, token: &str) -> String {
    let login = harness.post("/session", &json!({"token": token})).await;
    assert_eq!(login.status, 204, "{login:?}");
    let cookie = login.header("set-cookie").unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

async fn request(harness: &Harness, method: &str, path: &str, cookie: &str) -> Response {
    send(harness.addr(), method, path, cookie).await
}

async fn send(addr: std::net::SocketAddr, method: &str, path: &str, cookie: &str) -> Response {
    let request = Request::new(method, &format!("/api/v1{path}"))
        .header("Host", &addr.to_string())
        .header("Cookie", cookie);
    raw(addr, &request.bytes()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p22_closed_session_is_useless() {
    let harness = Harness::new().await;
    let cookie = sign_in(&harness, harness.token()).await;
    let other = sign_in(&harness, harness.token()).await;
    assert_ne!(cookie, other, "each session has its own cookie");
    assert_eq!(
        request(&harness, "GET", "/tasks", &cookie).await.status,
        200
    );
    let mut socket = open_with(harness.addr(), "", "cookie", &cookie).await;
    assert_eq!(socket.next_json().await["type"], "hello");
    let logout = request(&harness, "DELETE", "/session", &cookie).await;
    assert_eq!(logout.status, 204);
    assert!(logout.header("set-cookie").unwrap().contains("Max-Age=0"));
    for path in ["/tasks", "/session", "/ws"] {
        assert_eq!(
            request(&harness, "GET", path, &cookie).await.status,
            401,
            "{path}"
        );
    }
    let (code, _) = socket.closed().await.unwrap();
    assert_eq!(code, 1008);
    assert_eq!(request(&harness, "GET", "/tasks", &other).await.status, 200);
}

#[tokio::test]
async fn p22_cookie_is_bound_to_its_server() {
    let harness = Harness::new().await;
    let another = async |token: &windlass_core::SecretString, listen: &str| {
        let (store, access) = (&harness.store, &harness.access);
        let limits = ServerLimits::default();
        serve(store, access, token, harness.project.id, limits, listen).await
    };
    // The same store and the same token, on another port.
    let other = another(&harness.token, "127.0.0.1:0").await;
    let cookie = sign_in(&harness, harness.token()).await;
    let (name, value) = cookie.split_once('=').unwrap();
    assert_eq!(name, format!("windlass-{}", harness.addr().port()));
    for name in [name, &format!("windlass-{}", other.addr().port())] {
        let cookie = format!("{name}={value}");
        assert_eq!(
            send(other.addr(), "GET", "/tasks", &cookie).await.status,
            401,
            "{name}"
        );
    }
    // Another name of the same server is another host for a browser.
    let request = Request::new("GET", "/api/v1/tasks")
        .header("Host", &format!("localhost:{}", harness.addr().port()))
        .header("Cookie", &cookie);
    assert_eq!(harness.send(request.bytes()).await.status, 401);
    // A restart on the same port keeps the session; a new token of the server ends it.
    let addr = harness.addr();
    harness.running.stop().await;
    let (store, access, project) = (&harness.store, &harness.access, harness.project.id);
    let again = async |token: &windlass_core::SecretString| {
        let listen = addr.to_string();
        serve(
            store,
            access,
            token,
            project,
            ServerLimits::default(),
            &listen,
        )
        .await
    };
    let first = again(&harness.token).await;
    assert_eq!(send(addr, "GET", "/tasks", &cookie).await.status, 200);
    first.stop().await;
    let new = windlass_server::Token::generate().unwrap();
    let second = again(&new).await;
    assert_eq!(send(addr, "GET", "/tasks", &cookie).await.status, 401);
    second.stop().await;
}

#[tokio::test]
async fn p22_session_has_the_scopes_of_its_token() {
    let harness = Harness::new().await;
    harness.add("sell tea").await;
    let token = harness.create_token("reader", &[Scope::Read], None).await;
    let cookie = sign_in(&harness, &token).await;
    assert_eq!(
        request(&harness, "GET", "/tasks/1", &cookie).await.status,
        200
    );
    let merge = request(&harness, "POST", "/tasks/1/merge", &cookie).await;
    assert_eq!(
        (merge.status, merge.code().as_str()),
        (403, "missing_scope")
    );
}
