//! A provider that answers with given bytes, a bridge in front of it, and an agent that sends given bytes.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use windlass_agents::bridge::{BridgedAccess, ModelBridge, ModelRoute};
use windlass_bridge::{Bridge, CallPolicy, MeterSettings, ModelPrices};
use windlass_core::{ExposeSecret, SecretString, WorkLabel};
use windlass_store::{OpenStore, StoreSettings, open_all};
use windlass_tasks::{SpendLimit, UsageKey, UsageQuery, UsageTotal};

pub(crate) const KEY: &str = "sk-canary-0123456789";

/// What the provider received on one connection, and the way to answer.
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    pub(crate) stream: TcpStream,
}

impl Received {
    pub(crate) async fn answer(&mut self, bytes: &str) {
        self.stream.write_all(bytes.as_bytes()).await.unwrap();
    }
}

/// Reads a request with a `content-length` or without a body.
async fn read_request(mut stream: TcpStream) -> Option<Received> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.unwrap();
    Some(Received { head, body, stream })
}

pub(crate) struct Setup {
    pub(crate) bridge: Bridge,
    pub(crate) store: OpenStore,
    pub(crate) requests: mpsc::Receiver<Received>,
    upstream: String,
    _dir: tempfile::TempDir,
}

impl Setup {
    pub(crate) async fn new(limits: Vec<SpendLimit>) -> Self {
        Self::with_policy(limits, CallPolicy::default()).await
    }

    pub(crate) async fn with_policy(limits: Vec<SpendLimit>, policy: CallPolicy) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}/windlass.db", dir.path().display());
        let store = open_all(&url, StoreSettings::default()).await.unwrap();
        let prices = ModelPrices {
            input: 1.0,
            output: 10.0,
            cache_read: Some(0.1),
            cache_write: None,
            max_output: Some(100),
        };
        let bridge = Bridge::new(MeterSettings {
            prices: vec![("m".to_owned(), prices)],
            limits,
            policy,
        });
        bridge.store_in(Arc::clone(&store.calls));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let upstream = format!("http://{}/api/v1", listener.local_addr().unwrap());
        let (sender, requests) = mpsc::channel(64);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let sender = sender.clone();
                tokio::spawn(async move {
                    if let Some(received) = read_request(stream).await {
                        let _ = sender.send(received).await;
                    }
                });
            }
        });
        Self {
            bridge,
            store,
            requests,
            upstream,
            _dir: dir,
        }
    }

    pub(crate) fn open(&self) -> BridgedAccess {
        self.open_with(vec![SecretString::from(KEY)])
    }

    pub(crate) fn open_with(&self, keys: Vec<SecretString>) -> BridgedAccess {
        self.bridge.open(self.route("codex", keys)).unwrap()
    }

    /// Opens an address of another process's bridge, for another agent.
    pub(crate) fn open_on(&self, bridge: &Bridge, agent: &str) -> BridgedAccess {
        let route = self.route(agent, vec![SecretString::from(KEY)]);
        bridge.open(route).unwrap()
    }

    /// Opens an address for an agent with several accounts, each of which makes one call at a time.
    pub(crate) fn open_with_accounts(&self, more_keys: &[&str]) -> BridgedAccess {
        let route = ModelRoute {
            more_keys: more_keys.iter().copied().map(SecretString::from).collect(),
            max_calls: Some(1),
            ..self.route("codex", vec![SecretString::from(KEY)])
        };
        self.bridge.open(route).unwrap()
    }

    /// Opens an address for an agent with its own login.
    pub(crate) fn open_for_login(&self) -> BridgedAccess {
        let route = ModelRoute {
            own_login: true,
            ..self.route("codex", Vec::new())
        };
        self.bridge.open(route).unwrap()
    }

    fn route(&self, agent: &str, keys: Vec<SecretString>) -> ModelRoute {
        ModelRoute {
            agent: agent.to_owned(),
            upstream: self.upstream.clone(),
            keys,
            work: WorkLabel {
                project: Some(1),
                task: Some(7),
                attempt: Some(2),
                person: Some("ada".to_owned()),
            },
            ..ModelRoute::default()
        }
    }

    pub(crate) async fn next(&mut self) -> Received {
        self.requests.recv().await.unwrap()
    }

    /// Returns what was stored, after all calls have been.
    pub(crate) async fn totals(&self) -> Vec<UsageTotal> {
        self.bridge.flush().await;
        let query = UsageQuery::all(UsageKey::Agent);
        self.store.calls.usage_totals(query).await.unwrap()
    }
}

/// Sends a request to the bridge. Returns the open connection.
pub(crate) async fn send(
    access: &BridgedAccess,
    token: &str,
    line: &str,
    body: &[u8],
) -> TcpStream {
    let rest = access.url.strip_prefix("http://").unwrap();
    let (host, base) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    let (method, path) = line.split_once(' ').unwrap();
    let head = format!(
        "{method} /{base}{path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
         accept-encoding: gzip\r\nx-own: 1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    stream
}

pub(crate) fn token(access: &BridgedAccess) -> String {
    access.tokens[0].expose_secret().to_owned()
}

/// Reads the response to its end: the head, and the body without its chunk lengths.
pub(crate) async fn read_response(mut stream: TcpStream) -> (String, String) {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let is_chunked = head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    (
        head.to_owned(),
        if is_chunked {
            without_chunks(body)
        } else {
            body.to_owned()
        },
    )
}

fn without_chunks(mut text: &str) -> String {
    let mut body = String::new();
    while let Some((length, rest)) = text.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            break;
        }
        body += &rest[..length];
        text = &rest[length + 2..];
    }
    body
}
