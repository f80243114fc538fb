//! Throughput of a model's stream through the client: HTTP, frames, JSON, events. The baseline is HTTP alone.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, OnceLock};

use divan::Bencher;
use divan::counter::BytesCount;
use futures::StreamExt;
use windlass_agents::AgentContext;
use windlass_agents::http::{ApiKey, BaseUrl, Client, HttpLimits};
use windlass_agents::model::{ModelAgent, ModelKind, ModelSettings, NoTools};
use windlass_core::SystemClock;
use windlass_sandbox::{Host, Mechanism, Sandbox, init};
use windlass_wire::{
    Dialect, Message, ModelEvent, ModelRequest, Part, ResponseStyle, Role, StopReason,
    StreamEncoder,
};

const WORDS: usize = 20_000;

fn main() {
    init::run_if_invoked();
    divan::main();
}

fn runtime() -> &'static tokio::runtime::Runtime {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    #[expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    })
}

/// Returns the bytes of a long streamed response.
fn stream(dialect: Dialect) -> Vec<u8> {
    let mut encoder = StreamEncoder::new(dialect, ResponseStyle::new(dialect, 0));
    let start = ModelEvent::Start {
        id: "a".to_owned(),
        model: "m".to_owned(),
    };
    let words = (0..WORDS).map(|number| ModelEvent::TextDelta {
        text: format!("word {number} "),
    });
    let reason = StopReason::EndTurn;
    let end = [ModelEvent::Stop { reason }, ModelEvent::Done];
    let events = std::iter::once(start).chain(words).chain(end);
    events.flat_map(|event| encoder.push(&event)).collect()
}

/// Starts a server that answers every request with these bytes, and returns its URL.
#[expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]
fn serve(dialect: Dialect, body: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let kind = dialect.framing().content_type();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let (head, body) = (head.clone(), body.clone());
            std::thread::spawn(move || {
                let mut buffer = [0; 65_536];
                // Requests are small: each arrives in one read.
                while stream.read(&mut buffer).is_ok_and(|read| read > 0) {
                    let _ = stream.write_all(head.as_bytes());
                    let _ = stream.write_all(&body);
                }
            });
        }
    });
    url
}

const DIALECTS: [Dialect; 4] = [
    Dialect::Ollama,
    Dialect::Chat,
    Dialect::Responses,
    Dialect::Messages,
];

#[divan::bench(args = DIALECTS)]
#[expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]
fn events(bencher: Bencher<'_, '_>, dialect: Dialect) {
    let body = stream(dialect);
    let bytes = body.len();
    let url = serve(dialect, body);
    let (kind, spec) = match dialect {
        Dialect::Ollama => (ModelKind::Ollama, "chat_completions"),
        Dialect::Messages => (ModelKind::Anthropic, "chat_completions"),
        Dialect::Responses => (ModelKind::OpenAi, "responses"),
        _ => (ModelKind::OpenAi, "chat_completions"),
    };
    let config = serde_json::json!({ "endpoint": url, "model": "m", "api_spec": spec });
    let settings = ModelSettings::from_value(&config).unwrap();
    let host = Host::new([("PATH", "/usr/bin:/bin"), ("HOME", "/nowhere")]);
    let sandbox = runtime()
        .block_on(Sandbox::with_mechanism(host, Mechanism::None))
        .unwrap();
    let context = AgentContext::new(sandbox, "/nowhere");
    let agent = ModelAgent::new(kind, settings, context, Arc::new(NoTools)).unwrap();
    bencher.counter(BytesCount::new(bytes)).bench(|| {
        let mut request = ModelRequest::new("m");
        request.messages = vec![Message::new(Role::User, vec![Part::text("Go.")])];
        runtime().block_on(async {
            let mut events = agent.answer(request);
            let mut count = 0;
            while let Some(event) = events.next().await {
                assert!(!matches!(event, ModelEvent::Error(_)), "{event:?}");
                count += 1;
            }
            assert!(count > WORDS);
        });
    });
}

#[divan::bench(args = DIALECTS)]
#[expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]
fn bytes_only(bencher: Bencher<'_, '_>, dialect: Dialect) {
    let body = stream(dialect);
    let bytes = body.len();
    let url = BaseUrl::parse(&serve(dialect, body)).unwrap();
    let clock = Arc::new(SystemClock::new());
    let client = Client::new(url, ApiKey::default(), HttpLimits::default(), clock).unwrap();
    bencher.counter(BytesCount::new(bytes)).bench(|| {
        runtime().block_on(async {
            let mut body = client.post(dialect, "/x", "{}").await.unwrap();
            let mut read = 0;
            while let Some(chunk) = body.chunk().await.unwrap() {
                read += chunk.len();
            }
            assert_eq!(read, bytes);
        });
    });
}
