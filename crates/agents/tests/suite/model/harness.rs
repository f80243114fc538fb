//! A model agent in its own harness, a scripted model, and a server with canned responses.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use windlass_agents::model::{ModelAgent, ModelKind, ModelSettings};
use windlass_core::{AgentEvent, AgentHandle, Clock, SessionOptions, SystemClock, Timestamp};
use windlass_scripted::{RunningModel, Script, ScriptedModel};

use super::super::harness::Harness;
use super::tools::TestTools;

/// A model API with its agent configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    Ollama,
    Chat,
    Responses,
    Messages,
}

impl Api {
    pub(crate) const ALL: [Self; 4] = [Self::Ollama, Self::Chat, Self::Responses, Self::Messages];

    pub(crate) fn kind(self) -> ModelKind {
        match self {
            Self::Ollama => ModelKind::Ollama,
            Self::Chat | Self::Responses => ModelKind::OpenAi,
            Self::Messages => ModelKind::Anthropic,
        }
    }

    /// Returns the settings, overridden by `extra`.
    pub(crate) fn settings(self, endpoint: &str, extra: Value) -> ModelSettings {
        let mut config = json!({ "endpoint": endpoint, "model": "m", "permissions": "allow", "api_key_env": "TEST_KEY" });
        if self == Self::Responses {
            config["api_spec"] = "responses".into();
        }
        for (key, value) in extra.as_object().unwrap() {
            config[key] = value.clone();
        }
        ModelSettings::from_value(&config).unwrap()
    }
}

/// A model agent in its own harness.
pub(crate) struct ModelFixture {
    pub(crate) harness: Harness,
    pub(crate) agent: ModelAgent,
}

impl ModelFixture {
    pub(crate) async fn new(api: Api, endpoint: &str, extra: Value) -> Self {
        Self::with(
            api,
            endpoint,
            extra,
            TestTools::default(),
            Arc::new(SystemClock::new()),
        )
        .await
    }

    pub(crate) async fn with(
        api: Api,
        endpoint: &str,
        extra: Value,
        tools: TestTools,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let harness = Harness::new();
        let settings = api.settings(endpoint, extra);
        let context = harness.context(&[]).await;
        let agent = ModelAgent::with_clock(api.kind(), settings, context, Arc::new(tools), clock);
        Self {
            agent: agent.unwrap(),
            harness,
        }
    }

    pub(crate) fn handle(&self) -> AgentHandle {
        self.agent.handle()
    }

    pub(crate) fn options(&self) -> SessionOptions {
        SessionOptions::in_dir(self.harness.work())
    }

    /// Runs one turn in a new session.
    pub(crate) async fn ask(&self, prompt: &str) -> Vec<AgentEvent> {
        let handle = self.handle();
        let session = handle.new_session(self.options()).await.unwrap();
        handle
            .prompt(&session, prompt)
            .await
            .unwrap()
            .collect()
            .await
    }
}

/// Starts a scripted model with these turns.
pub(crate) async fn scripted(turns: Value) -> RunningModel {
    let script = Script::parse(&json!({ "turns": turns }).to_string(), "test").unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    ScriptedModel::start(script, listen).await.unwrap()
}

/// Renders the terminal event of a turn: the text of a result, or the code and message of an error.
pub(crate) fn end(events: &[AgentEvent]) -> String {
    match events.last() {
        Some(AgentEvent::Result { text, .. }) => text.clone(),
        Some(AgentEvent::Error {
            code,
            message,
            recoverable,
        }) => {
            let kind = if *recoverable {
                "transient"
            } else {
                "permanent"
            };
            format!("{code} ({kind}): {message}")
        }
        other => format!("{other:?}"),
    }
}

/// Returns the name and success of each tool of a turn, in the order of their end events.
pub(crate) fn tools(events: &[AgentEvent]) -> Vec<(String, bool)> {
    let ends = events.iter().filter_map(|event| match event {
        AgentEvent::ToolEnd { name, success, .. } => Some((name.clone(), *success)),
        _ => None,
    });
    ends.collect()
}

/// A server that answers each connection with the next response, and records the requests.
pub(crate) struct CannedServer {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl CannedServer {
    pub(crate) async fn start(responses: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let requests = Arc::clone(&seen);
        tokio::spawn(async move {
            for response in responses {
                let Ok((mut stream, _)) = listener.accept().await else {
                    return;
                };
                let request = request(&mut stream).await;
                requests.lock().unwrap().push(request);
                let _ = stream.write_all(response.as_bytes()).await;
                let _ = stream.shutdown().await;
            }
        });
        Self { url, seen }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

async fn request(stream: &mut tokio::net::TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).await.unwrap_or(0);
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            if read == 0 {
                return text;
            }
            continue;
        };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse().ok())?
        });
        if read == 0 || body.len() >= length.unwrap_or(0) {
            return text;
        }
    }
}

/// Returns an HTTP response.
pub(crate) fn http(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

/// A clock at a fixed time that records short sleeps and returns from them immediately. Sleeps of 60 s or more never
/// end.
#[derive(Debug, Default)]
pub(crate) struct RecordingClock {
    pub(crate) now: u64,
    waits: Mutex<Vec<Duration>>,
}

impl RecordingClock {
    pub(crate) fn at(now: u64) -> Arc<Self> {
        Arc::new(Self {
            now,
            ..Self::default()
        })
    }

    /// Returns the short sleeps so far.
    pub(crate) fn waits(&self) -> Vec<Duration> {
        self.waits.lock().unwrap().clone()
    }
}

impl Clock for RecordingClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.now)
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        if duration >= Duration::from_secs(60) {
            return Box::pin(std::future::pending());
        }
        self.waits.lock().unwrap().push(duration);
        Box::pin(async {})
    }
}
