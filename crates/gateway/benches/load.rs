//! A model server and its clients, for `scripts/bench gateway`. Both cost so little that the server between them is what is
//! measured.
//!
//! `load upstream CHUNKS PACE_MS` answers every request with the same bytes, and prints its address. A stream has CHUNKS
//! chunks, with PACE_MS between them. `load rate URL TOKEN MODEL STREAM RATE SECONDS` sends requests at fixed times, whether
//! or not earlier ones are answered, and prints percentiles. `load hold URL TOKEN MODEL COUNT` opens streams, waits until
//! each has sent bytes, and keeps them open until its input ends. LOAD_HEADERS has further headers, each with its line end.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking, and prints its results"
)]

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

/// The length of the text in a prompt and in an answer.
const TEXT_BYTES: usize = 1_000;
/// The beginning of every chunk of a stream.
const HEAD: &str = r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"scripted","choices":[{"index":0,"delta":"#;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        match args[..] {
            ["upstream", chunks, pace, ..] => serve(number(chunks), number(pace)).await,
            ["rate", url, token, model, stream, rate, seconds, ..] => {
                let target = Target::new(url, token, model, stream == "true");
                send_at_rate(target, number(rate), number(seconds)).await;
            }
            ["hold", url, token, model, count, ..] => {
                hold(Target::new(url, token, model, true), number(count)).await;
            }
            // `cargo bench` runs all benchmarks.
            _ => println!("load: run scripts/bench gateway"),
        }
    });
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

/// Answers every request on every connection.
async fn serve(chunks: u64, pace: u64) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("http://{}", listener.local_addr().unwrap());
    let answers = Arc::new(Answers::new(chunks, Duration::from_millis(pace)));
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        socket.set_nodelay(true).unwrap();
        let answers = Arc::clone(&answers);
        tokio::spawn(async move { answers.serve(socket).await });
    }
}

/// The bytes of the answers.
struct Answers {
    document: Vec<u8>,
    /// The head of a stream, and each of its chunks.
    stream: Vec<Vec<u8>>,
    pace: Duration,
}

impl Answers {
    fn new(chunks: u64, pace: Duration) -> Self {
        let text = "a".repeat(TEXT_BYTES);
        let usage = r#""usage":{"prompt_tokens":250,"completion_tokens":250,"total_tokens":500}"#;
        let body = format!(
            r#"{{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"scripted","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],{usage}}}"#
        );
        let document = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let piece = &text[..TEXT_BYTES / usize::try_from(chunks).unwrap().max(1)];
        let mut frames = vec![format!(
            r#"{HEAD}{{"role":"assistant","content":""}},"finish_reason":null}}]}}"#
        )];
        for _ in 0..chunks {
            frames.push(format!(
                r#"{HEAD}{{"content":"{piece}"}},"finish_reason":null}}]}}"#
            ));
        }
        frames.push(format!(r#"{HEAD}{{}},"finish_reason":"stop"}}]}}"#));
        frames.push(format!(
            r#"{{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"scripted","choices":[],{usage}}}"#
        ));
        frames.push("[DONE]".to_owned());
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let mut stream = vec![head.as_bytes().to_vec()];
        for frame in frames {
            let event = format!("data: {frame}\n\n");
            stream.push(format!("{:x}\r\n{event}\r\n", event.len()).into_bytes());
        }
        stream.push(b"0\r\n\r\n".to_vec());
        Self {
            document: document.into_bytes(),
            stream,
            pace,
        }
    }

    async fn serve(&self, socket: TcpStream) {
        let mut socket = BufReader::new(socket);
        // The other side may close the connection at any time.
        while let Some(body) = read_request(&mut socket).await {
            let streams = body.windows(13).any(|part| part == br#""stream":true"#);
            let sent = if streams {
                self.send_stream(socket.get_mut()).await
            } else {
                socket.get_mut().write_all(&self.document).await
            };
            if sent.is_err() {
                return;
            }
        }
    }

    async fn send_stream(&self, socket: &mut TcpStream) -> std::io::Result<()> {
        for (at, part) in self.stream.iter().enumerate() {
            if at > 1 && !self.pace.is_zero() {
                sleep(self.pace).await;
            }
            socket.write_all(part).await?;
        }
        Ok(())
    }
}

/// Reads one request and returns its body. `None` at the end of the connection.
async fn read_request(socket: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let (_, length) = read_head(socket).await?;
    let mut body = vec![0; length.unwrap_or_default()];
    socket.read_exact(&mut body).await.ok()?;
    Some(body)
}

/// Reads the lines before a body, and returns the first one and the length of the body if it is known.
async fn read_head(socket: &mut BufReader<TcpStream>) -> Option<(String, Option<usize>)> {
    let (mut first, mut length) = (String::new(), None);
    loop {
        let mut line = String::new();
        if socket.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            return Some((first, length));
        }
        if first.is_empty() {
            line.clone_into(&mut first);
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok();
        }
    }
}

/// Where requests are sent, and what they are.
struct Target {
    address: String,
    request: Vec<u8>,
}

/// When a response began and ended, after its request.
struct Times {
    first: Duration,
    last: Duration,
}

impl Target {
    fn new(url: &str, token: &str, model: &str, stream: bool) -> Arc<Self> {
        let (address, path) = url
            .strip_prefix("http://")
            .and_then(|rest| rest.split_once('/'))
            .unwrap();
        let text = "a".repeat(TEXT_BYTES);
        let body = format!(
            r#"{{"model":"{model}","stream":{stream},"messages":[{{"role":"user","content":"{text}"}}]}}"#
        );
        let more = std::env::var("LOAD_HEADERS").unwrap_or_default();
        let request = format!(
            "POST /{path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             {more}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        Arc::new(Self {
            address: address.to_owned(),
            request: request.into_bytes(),
        })
    }

    async fn connect(&self) -> BufReader<TcpStream> {
        let socket = TcpStream::connect(&self.address).await.unwrap();
        socket.set_nodelay(true).unwrap();
        BufReader::new(socket)
    }

    /// Sends the request and waits for the first byte of the body. Returns the length of the body if it is known.
    async fn begin(&self, socket: &mut BufReader<TcpStream>) -> Option<usize> {
        socket.get_mut().write_all(&self.request).await.unwrap();
        let (status, length) = read_head(socket).await.unwrap();
        assert!(status.contains(" 200 "), "{status}");
        socket.fill_buf().await.unwrap();
        length
    }

    /// Sends the request `since` the given time, and reads the whole response.
    async fn measure(&self, socket: &mut BufReader<TcpStream>, since: Instant) -> Times {
        let length = self.begin(socket).await;
        let first = since.elapsed();
        match length {
            Some(length) => {
                let mut body = vec![0; length];
                socket.read_exact(&mut body).await.unwrap();
            }
            None => read_chunks(socket).await,
        }
        let last = since.elapsed();
        Times { first, last }
    }
}

/// Reads a chunked body to its end.
async fn read_chunks(socket: &mut BufReader<TcpStream>) {
    loop {
        let mut line = String::new();
        socket.read_line(&mut line).await.unwrap();
        let length = usize::from_str_radix(line.trim_end(), 16).unwrap();
        let mut chunk = vec![0; length + 2];
        socket.read_exact(&mut chunk).await.unwrap();
        if length == 0 {
            return;
        }
    }
}

/// Sends requests at fixed times, over connections that are kept, and prints milliseconds.
async fn send_at_rate(target: Arc<Target>, rate: u64, seconds: u64) {
    let start = Instant::now() + Duration::from_millis(100);
    let period = Duration::from_secs(1) / u32::try_from(rate).unwrap();
    let mut idle = Vec::new();
    let mut running = JoinSet::new();
    let mut times = Vec::new();
    for number in 0..rate * seconds {
        let due = start + period * u32::try_from(number).unwrap();
        sleep_until(due).await;
        while let Some(done) = running.try_join_next() {
            let (time, socket) = done.unwrap();
            times.push(time);
            idle.push(socket);
        }
        let target = Arc::clone(&target);
        let kept = idle.pop();
        running.spawn(async move {
            let mut socket = match kept {
                Some(socket) => socket,
                None => target.connect().await,
            };
            // Not since `due`: the time at which this client woke up is its own delay.
            let time = target.measure(&mut socket, Instant::now()).await;
            (time, socket)
        });
    }
    while let Some(done) = running.join_next().await {
        times.push(done.unwrap().0);
    }
    // The first second warms up.
    let times = &times[usize::try_from(rate).unwrap().min(times.len() - 1)..];
    let percentile = |of: fn(&Times) -> Duration, part: usize| {
        let mut sorted: Vec<Duration> = times.iter().map(of).collect();
        sorted.sort_unstable();
        let at = (sorted.len() * part / 100).min(sorted.len() - 1);
        sorted[at].as_secs_f64() * 1000.0
    };
    println!(
        r#"{{"first_p50":{:.3},"first_p99":{:.3},"last_p50":{:.3},"last_p99":{:.3}}}"#,
        percentile(|time| time.first, 50),
        percentile(|time| time.first, 99),
        percentile(|time| time.last, 50),
        percentile(|time| time.last, 99),
    );
}

/// Opens streams and keeps them open.
async fn hold(target: Arc<Target>, count: u64) {
    let mut streams = Vec::new();
    for _ in 0..count {
        let mut socket = target.connect().await;
        target.begin(&mut socket).await;
        streams.push(tokio::spawn(async move {
            let mut buffer = vec![0; 4096];
            while socket.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
        }));
    }
    println!("open");
    // Until the caller closes the input.
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()))
        .await
        .unwrap()
        .unwrap();
    let ended = streams.iter().filter(|stream| stream.is_finished()).count();
    println!("{ended}");
}
