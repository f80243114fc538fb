//! Benchmarks a scripted response, compared with a bare handler that sends the same bytes.
//!
//! One connection is kept open, as by a client. `first_byte` stops at the first chunk of the body; the rest
//! is read outside of the measured time, which is why each sample is one request.

#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use divan::Bencher;
use tokio::runtime::Runtime;
use windlass_scripted::{RunningModel, Script, ScriptedModel};

fn main() {
    divan::main();
}

const SCRIPT: &str = r#"{"turns": [{"or_more": true, "answer": [
    {"text": "A sentence of the usual length, so that there is something to send in chunks."},
    {"shell": {"command": "cargo test"}}
]}]}"#;

/// Returns a request of about the size of a first prompt, with one tool.
fn request_bytes(stream: bool) -> Vec<u8> {
    let instructions = "You are a careful engineer. ".repeat(400);
    let body = format!(
        r#"{{"model":"m","stream":{stream},"max_tokens":100,"system":"{instructions}","messages":[{{"role":"user","content":"go"}}],"tools":[{{"name":"Bash","input_schema":{{"type":"object","properties":{{"command":{{"type":"string"}}}},"required":["command"]}}}}]}}"#
    );
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body.into_bytes()].concat()
}

/// A persistent connection that reads responses of both kinds.
struct Client(RefCell<BufReader<TcpStream>>);

impl Client {
    fn new(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(RefCell::new(BufReader::new(stream)))
    }

    /// Sends a request and reads the headers. Returns the length of the body, if it has one.
    fn send(&self, request_bytes: &[u8]) -> Option<usize> {
        let mut stream = self.0.borrow_mut();
        stream.get_mut().write_all(request_bytes).unwrap();
        let mut length = None;
        loop {
            let line = line(&mut *stream);
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().ok();
            }
            if line.is_empty() {
                return length;
            }
        }
    }

    /// Reads a body of this length, or a chunked body to its end.
    fn read_body(&self, length: Option<usize>) {
        let mut stream = self.0.borrow_mut();
        if let Some(length) = length {
            return stream.read_exact(&mut vec![0; length]).unwrap();
        }
        loop {
            let size = usize::from_str_radix(&line(&mut *stream), 16).unwrap();
            stream.read_exact(&mut vec![0; size + 2]).unwrap();
            if size == 0 {
                return;
            }
        }
    }

    /// Waits for the first byte of the body.
    fn wait_first_byte(&self) {
        self.0.borrow_mut().fill_buf().unwrap();
    }
}

fn line(stream: &mut impl BufRead) -> String {
    let mut line = String::new();
    stream.take(8192).read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

fn scripted(runtime: &Runtime) -> RunningModel {
    let script = Script::parse(SCRIPT, "bench").unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    runtime
        .block_on(ScriptedModel::start(script, listen))
        .unwrap()
}

/// A handler that reads the request and sends prepared bytes.
fn bare(runtime: &Runtime, stream: bool) -> SocketAddr {
    let model = scripted(runtime);
    let client = Client::new(model.addr());
    let length = client.send(&request_bytes(stream));
    let mut bytes = vec![0; length.unwrap_or(2048)];
    if length.is_some() {
        client.0.borrow_mut().read_exact(&mut bytes).unwrap();
    }
    let handler = move |request: Request| {
        let bytes = bytes.clone();
        async move {
            let _ = to_bytes(request.into_body(), 1 << 20).await;
            respond(bytes, stream)
        }
    };
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        let router = Router::new().fallback(handler);
        tokio::spawn(async move { axum::serve(listener, router).await });
        addr
    })
}

fn respond(bytes: Vec<u8>, stream: bool) -> Response {
    if !stream {
        return ([(CONTENT_TYPE, "application/json")], bytes).into_response();
    }
    let chunks: Vec<std::io::Result<Vec<u8>>> =
        bytes.chunks(128).map(|chunk| Ok(chunk.to_vec())).collect();
    let body = Body::from_stream(futures::stream::iter(chunks));
    ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
}

fn whole(bencher: Bencher<'_, '_>, addr: SocketAddr) {
    let (client, request_bytes) = (Client::new(addr), request_bytes(false));
    bencher
        .counter(divan::counter::ItemsCount::new(1_u32))
        .bench_local(|| {
            let length = client.send(&request_bytes);
            client.read_body(length);
        });
}

fn first(bencher: Bencher<'_, '_>, addr: SocketAddr) {
    let (client, request_bytes) = (Client::new(addr), request_bytes(true));
    let open = std::cell::Cell::new(false);
    bencher
        .with_inputs(|| {
            if open.replace(true) {
                client.read_body(None);
            }
        })
        .bench_local_values(|()| {
            client.send(&request_bytes);
            client.wait_first_byte();
        });
}

#[divan::bench(sample_count = 2000)]
fn whole_scripted(bencher: Bencher<'_, '_>) {
    let runtime = Runtime::new().unwrap();
    let model = scripted(&runtime);
    whole(bencher, model.addr());
}

#[divan::bench(sample_count = 2000)]
fn whole_bare(bencher: Bencher<'_, '_>) {
    let runtime = Runtime::new().unwrap();
    let addr = bare(&runtime, false);
    whole(bencher, addr);
}

#[divan::bench(sample_size = 1, sample_count = 2000)]
fn first_byte_scripted(bencher: Bencher<'_, '_>) {
    let runtime = Runtime::new().unwrap();
    let model = scripted(&runtime);
    first(bencher, model.addr());
}

#[divan::bench(sample_size = 1, sample_count = 2000)]
fn first_byte_bare(bencher: Bencher<'_, '_>) {
    let runtime = Runtime::new().unwrap();
    let addr = bare(&runtime, true);
    first(bencher, addr);
}
