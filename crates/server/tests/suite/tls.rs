//! HTTPS with real sockets and certificates of openssl.

use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use windlass_server::{RunningServer, Server, ServerError, ServerLimits, TlsFiles, Token};

use super::certificates::{Authority, VERSIONS, certificate};
use super::client::{Request, Response, exchange};
use super::harness::{Harness, TestHostOps, raise_file_limit};
use super::ws::Socket;

const NAMES: &str = "DNS:team.example,DNS:*.wild.example,DNS:localhost,IP:127.0.0.1";

/// A second server on the store of a harness, with a certificate.
struct Encrypted {
    harness: Harness,
    authority: Authority,
    running: RunningServer,
}

fn server(harness: &Harness) -> Server {
    let (store, access) = (harness.store.clone(), harness.access.clone());
    let token = Token::new(&harness.token);
    Server::new(store, access, Arc::new(TestHostOps), token)
}

impl Encrypted {
    async fn new() -> Self {
        Self::with(ServerLimits::default()).await
    }

    async fn with(limits: ServerLimits) -> Self {
        let harness = Harness::new().await;
        let authority = Authority::new();
        let files = authority.issue("server", NAMES);
        let server = server(&harness).with_tls(files).with_limits(limits);
        let running = server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        Self {
            harness,
            authority,
            running,
        }
    }

    fn addr(&self) -> SocketAddr {
        self.running.addr()
    }

    /// Returns an authenticated request to a host.
    fn request(&self, host: &str) -> Request {
        Request::new("GET", "/api/v1/health")
            .header("Host", host)
            .header("x-api-key", self.harness.token())
    }

    async fn send(&self, request: Vec<u8>) -> Response {
        let name = "team.example";
        let stream = self.authority.connect(self.addr(), name, VERSIONS[0]).await;
        exchange(stream, &request).await.unwrap()
    }

    /// Opens a WebSocket.
    async fn subscribe(&self) -> Socket<tokio_rustls::client::TlsStream<TcpStream>> {
        let url = format!("wss://team.example:{}/api/v1/ws", self.addr().port());
        let mut request = url.into_client_request().unwrap();
        let bearer = format!("Bearer {}", self.harness.token());
        request
            .headers_mut()
            .insert("authorization", bearer.parse().unwrap());
        let name = "team.example";
        let stream = self.authority.connect(self.addr(), name, VERSIONS[0]).await;
        let connected = tokio_tungstenite::client_async(request, stream).await;
        let mut socket = Socket {
            stream: connected.unwrap().0,
        };
        assert_eq!(socket.next_json().await["type"], "hello");
        socket
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p22_encrypted_server_accepts_the_names_of_its_certificate() {
    let server = Encrypted::new().await;
    let port = server.addr().port();
    assert_eq!(server.running.url(), format!("https://127.0.0.1:{port}"));
    for (host, status) in [
        (format!("team.example:{port}"), 200),
        (format!("TEAM.example:{port}"), 200),
        (format!("a.wild.example:{port}"), 200),
        (format!("localhost:{port}"), 200),
        (format!("127.0.0.1:{port}"), 200),
        ("team.example".to_owned(), 403),
        (format!("team.example:{}", port ^ 1), 403),
        (format!("team.example.:{port}"), 403),
        (format!("a.b.wild.example:{port}"), 403),
        (format!("*.wild.example:{port}"), 403),
        (format!("evil.example:{port}"), 403),
    ] {
        let response = server.send(server.request(&host).bytes()).await;
        assert_eq!(response.status, status, "{host}: {response:?}");
    }
    let host = format!("team.example:{port}");
    for (origin, status) in [
        (format!("https://{host}"), 200),
        (format!("http://{host}"), 403),
        ("https://evil.example".to_owned(), 403),
        ("null".to_owned(), 403),
    ] {
        let request = server.request(&host).header("Origin", &origin);
        let response = server.send(request.bytes()).await;
        assert_eq!(response.status, status, "{origin}: {response:?}");
    }
    let login = Request::new("POST", "/api/v1/session")
        .header("Host", &host)
        .header("Content-Type", "application/json");
    let body = json!({"token": server.harness.token()}).to_string();
    let response = server.send(login.with(&body)).await;
    let cookie = response.header("set-cookie").unwrap();
    assert!(cookie.ends_with("; Secure"), "{cookie}");
}

#[tokio::test]
async fn p22_page_behind_a_proxy_with_a_certificate_gets_a_secure_cookie() {
    let harness = Harness::new().await;
    let server = server(&harness).with_hosts(vec!["team.example".to_owned()]);
    let running = server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let login = async |host: &str, origin: &str| {
        let request = Request::new("POST", "/api/v1/session")
            .header("Host", host)
            .header("Origin", origin)
            .header("Content-Type", "application/json");
        let body = json!({"token": harness.token()}).to_string();
        let request = request.with(&body);
        super::client::raw(running.addr(), &request).await.unwrap()
    };
    let response = login("team.example", "https://team.example").await;
    assert_eq!(response.status, 204, "{response:?}");
    let cookie = response.header("set-cookie").unwrap().to_owned();
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    let request = Request::new("GET", "/api/v1/health")
        .header("Host", "team.example")
        .header("Origin", "https://team.example")
        .header("Cookie", cookie.split(';').next().unwrap());
    let health = super::client::raw(running.addr(), &request.bytes()).await;
    assert_eq!(health.unwrap().status, 200);
    // Without a certificate anywhere, a browser would not send it back.
    let own = running.addr().to_string();
    let response = login(&own, &format!("http://{own}")).await;
    let cookie = response.header("set-cookie").unwrap();
    assert!(!cookie.contains("Secure"), "{cookie}");
    let response = login(&own, &format!("https://{own}")).await;
    assert_eq!(response.status, 403, "{response:?}");
}

#[tokio::test]
async fn both_versions_and_all_kinds_of_keys_work() {
    let harness = Harness::new().await;
    let authority = Authority::new();
    let mut kinds = Vec::new();
    for (file, key) in [
        ("rsa", "-newkey rsa:2048"),
        ("p384", "-newkey ec -pkeyopt ec_paramgen_curve:P-384"),
        ("ed25519", "-newkey ed25519"),
    ] {
        kinds.push(authority.issue_with(file, NAMES, key));
    }
    // The older formats of keys, PKCS#1 and SEC1.
    for (file, convert) in [("rsa", "rsa -traditional"), ("p384", "ec")] {
        authority.openssl(&format!("{convert} -in {file}.key -out {file}-old.key"));
        let old = TlsFiles {
            key: authority.files(&format!("{file}-old")).key,
            ..authority.files(file)
        };
        let text = std::fs::read_to_string(&old.key).unwrap();
        assert!(!text.contains("BEGIN PRIVATE KEY"), "{file}");
        kinds.push(old);
    }
    for files in kinds {
        let listening = server(&harness).with_tls(files.clone());
        let running = listening.listen("127.0.0.1:0".parse().unwrap()).await;
        let running = running.unwrap();
        for version in VERSIONS {
            let stream = authority
                .connect(running.addr(), "localhost", version)
                .await;
            assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
            let request = Request::new("GET", "/livez").bytes();
            let response = exchange(stream, &request).await.unwrap();
            assert_eq!(response.status, 200, "{files:?} {version:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p12_slow_handshakes_do_not_delay_an_authenticated_client() {
    const FLOOD: usize = 1_000;
    raise_file_limit(FLOOD);
    let mut limits = ServerLimits::default();
    limits.head_time = Duration::from_secs(3600);
    let server = Encrypted::with(limits).await;
    let mut socket = server.subscribe().await;
    let hello = client_hello(&server).await;
    let mut flood = Vec::new();
    let mut slowest = Duration::ZERO;
    for number in 0..FLOOD {
        let mut stream = TcpStream::connect(server.addr()).await.unwrap();
        let start = match number % 3 {
            0 => &[],
            1 => &hello[..hello.len() / 2],
            _ => &hello[..],
        };
        let _ = stream.write_all(start).await;
        flood.push(stream);
        if number % 100 == 99 {
            let host = format!("team.example:{}", server.addr().port());
            let asked = Instant::now();
            let response = server.send(server.request(&host).bytes()).await;
            slowest = slowest.max(asked.elapsed());
            assert_eq!(response.status, 200, "{response:?}");
        }
    }
    println!("slowest answer {slowest:?}");
    server.harness.broadcast(1, 3).await;
    assert_eq!(socket.next_json().await["seq"], json!(1));
}

/// Records the first message of a client.
async fn client_hello(server: &Encrypted) -> Vec<u8> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let accepted = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 5];
        stream.read_exact(&mut head).await.unwrap();
        let mut body = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
        stream.read_exact(&mut body).await.unwrap();
        [head.to_vec(), body].concat()
    };
    let client = server.authority.connect(addr, "team.example", VERSIONS[0]);
    tokio::select! {
        hello = accepted => hello,
        _ = client => unreachable!("the handshake is not answered"),
    }
}

#[tokio::test]
async fn p12_half_handshake_ends_at_the_time_limit_of_a_head() {
    let mut limits = ServerLimits::default();
    limits.head_time = Duration::from_millis(200);
    let server = Encrypted::with(limits).await;
    let hello = client_hello(&server).await;
    for start in [&hello[..0], &hello[..9], &hello[..]] {
        let mut stream = TcpStream::connect(server.addr()).await.unwrap();
        stream.write_all(start).await.unwrap();
        let mut rest = Vec::new();
        // The server ends the connection: nothing else would end this read.
        let _ = stream.read_to_end(&mut rest).await;
    }
}

#[tokio::test]
async fn garbage_and_plain_requests_are_closed() {
    let server = Encrypted::new().await;
    let garbage: Vec<u8> = (0..=255).rev().cycle().take(70_000).collect();
    let record = [&[22, 3, 1, 255, 255][..], &garbage].concat();
    for bytes in [&b"\0"[..], b"\x16\x03", b"\x80\x2e\x01", &garbage, &record] {
        let mut stream = TcpStream::connect(server.addr()).await.unwrap();
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        assert!(rest.len() < 100, "at most an alert: {rest:?}");
    }
    let host = server.addr().to_string();
    let plain = server.request(&host).bytes();
    let response = super::client::raw(server.addr(), &plain).await.unwrap();
    assert_eq!(response.status, 400, "{response:?}");
    assert_eq!(
        response.body,
        "this port is encrypted: use an https:// address"
    );
    let response = server.send(server.request(&host).bytes()).await;
    assert_eq!(response.status, 200, "{response:?}");
}

/// Waits until new connections get this certificate.
async fn wait_for(server: &Encrypted, file: &Path) {
    let expected = certificate(file);
    for _ in 0..500 {
        let addr = server.addr();
        let stream = server.authority.connect(addr, "team.example", VERSIONS[0]);
        let stream = stream.await;
        let certificates = stream.get_ref().1.peer_certificates().unwrap();
        if certificates[0] == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    unreachable!("the new certificate is not used");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificate_is_replaced_while_a_websocket_is_open() {
    let mut limits = ServerLimits::default();
    limits.certificate_check = Duration::from_millis(10);
    let server = Encrypted::with(limits).await;
    let mut socket = server.subscribe().await;
    let old = server.authority.files("server");
    let first = server.authority.dir.path().join("first.pem");
    std::fs::copy(&old.cert, &first).unwrap();

    // A file that cannot be used changes nothing, and neither does one without its key.
    let new = server
        .authority
        .issue("new", "DNS:team.example,DNS:new.example");
    for broken in [
        &b""[..],
        b"no certificate",
        &std::fs::read(&new.cert).unwrap(),
    ] {
        std::fs::write(&old.cert, broken).unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        wait_for(&server, &first).await;
    }
    std::fs::rename(&new.key, &old.key).unwrap();
    wait_for(&server, &new.cert).await;
    let host = format!("new.example:{}", server.addr().port());
    let response = server.send(server.request(&host).bytes()).await;
    assert_eq!(response.status, 200, "the name is new: {response:?}");
    server.harness.broadcast(1, 3).await;
    assert_eq!(socket.next_json().await["seq"], json!(1));
}

/// Certificates and keys that cannot be used, and why.
const REFUSED_FILES: [(&str, &str, &str); 11] = [
    (
        "missing.pem",
        "server.key",
        "missing.pem cannot be read: No such file",
    ),
    (
        "server.pem",
        "missing.key",
        "missing.key cannot be read: No such file",
    ),
    (
        "empty.pem",
        "server.key",
        "empty.pem contains no certificate",
    ),
    (
        "server.key",
        "server.key",
        "server.key contains no certificate",
    ),
    ("binary.pem", "server.key", "binary.pem is not text"),
    ("server.pem", "server.pem", "server.pem"),
    (
        "server.pem",
        "other.key",
        "does not belong to the first certificate",
    ),
    (
        "server.pem",
        "open.key",
        "open.key can be read or written by other users",
    ),
    (
        "server.pem",
        "locked.key",
        "locked.key has a key with a passphrase",
    ),
    ("server.pem", "empty.pem", "empty.pem"),
    (".", "server.key", "is not a regular file"),
];

#[tokio::test]
async fn files_that_cannot_be_used_are_refused_with_the_reason() {
    let harness = Harness::new().await;
    let authority = Authority::new();
    let good = authority.issue("server", NAMES);
    let other = authority.issue("other", NAMES);
    authority.openssl("pkey -in server.key -aes256 -passout pass:x -out locked.key");
    authority.openssl("x509 -in server.pem -outform DER -out binary.pem");
    let path = |name: &str| authority.dir.path().join(name);
    std::fs::write(path("empty.pem"), "").unwrap();
    std::fs::copy(&good.key, path("open.key")).unwrap();
    let mode = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(path("open.key"), mode).unwrap();
    std::fs::copy(&good.cert, path("linked.pem")).unwrap();
    symlink("linked.pem", path("link.pem")).unwrap();
    let check = async |cert: &str, key: &str| {
        let files = TlsFiles {
            cert: path(cert),
            key: path(key),
        };
        let listening = server(&harness).with_tls(files);
        let running = listening.listen("127.0.0.1:0".parse().unwrap()).await;
        running.err().map(|error| error.to_string())
    };
    for (cert, key, reason) in REFUSED_FILES {
        let error = check(cert, key).await.expect(reason);
        assert!(error.contains(reason), "{cert} {key}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    assert_eq!(check("link.pem", "server.key").await, None);
    let files = other;
    let taken = server(&harness)
        .with_tls(files)
        .listen(harness.addr())
        .await;
    assert!(matches!(taken, Err(ServerError::AddressInUse { .. })));
}

#[tokio::test]
async fn p22_non_loopback_address_needs_no_permission_with_a_certificate() {
    let harness = Harness::new().await;
    let files = Authority::new();
    let issued = files.issue("server", "DNS:team.example");
    let listening = server(&harness).with_tls(issued);
    let running = listening
        .listen("0.0.0.0:0".parse().unwrap())
        .await
        .unwrap();
    let port = running.addr().port();
    assert_eq!(running.url(), format!("https://team.example:{port}"));
}
