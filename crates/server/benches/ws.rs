//! Benchmarks many subscribers of one server, one of which never reads: the delay of events, and the server's
//! resource usage.
//!
//! `scripts/bench-ws` starts the server as a separate process and then this benchmark. Events are written to
//! the store from here, as another worker would, so the delay covers the whole path: store, pump, ring,
//! socket.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking, and prints its results"
)]

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use tokio::net::TcpStream;
use tokio::sync::{Barrier, mpsc};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use windlass_core::{Clock, SystemClock};
use windlass_tasks::{Broadcast, NewProject, ProjectId, TaskStore};

/// The text before the send time in an event.
const MARK: &str = "sent at ";

fn main() {
    // Without a server there is nothing to measure, as when `cargo bench` runs all benchmarks.
    let Ok(addr) = std::env::var("WINDLASS_BENCH_ADDR") else {
        println!("ws: run scripts/bench-ws");
        return;
    };
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(measure(addr));
}

fn setting(name: &str) -> String {
    std::env::var(format!("WINDLASS_BENCH_{name}")).unwrap_or_default()
}

fn number(name: &str, default: usize) -> usize {
    setting(name).parse().unwrap_or(default)
}

async fn measure(addr: String) {
    let (readers, rate, seconds) = (
        number("READERS", 1_000),
        number("RATE", 20),
        number("SECONDS", 30),
    );
    let clock = SystemClock::new();
    let store = windlass_store::open(&setting("STORE")).await.unwrap();
    let project = NewProject {
        name: "bench".to_owned(),
        root: "/bench".into(),
    };
    let project_id = store.add_project(project).await.unwrap().id;
    let _never = connect(&addr).await;
    let (delays, mut received) = mpsc::channel(10_000);
    let ready = Arc::new(Barrier::new(readers + 1));
    for _ in 0..readers {
        let socket = connect(&addr).await;
        let (delays, ready) = (delays.clone(), Arc::clone(&ready));
        tokio::spawn(async move {
            ready.wait().await;
            listen(socket, clock, delays).await;
        });
    }
    drop(delays);
    ready.wait().await;
    let before = ServerUsage::read();
    let total = rate * seconds;
    let sending = send_events(&*store, clock, project_id, (rate, total));
    let expected = readers * total;
    let receiving = async {
        let mut all: Vec<u64> = Vec::with_capacity(expected);
        while all.len() < expected {
            match tokio::time::timeout(Duration::from_secs(20), received.recv()).await {
                Ok(Some(micros)) => all.push(micros),
                _ => break,
            }
        }
        all
    };
    let ((), mut all) = tokio::join!(sending, receiving);
    let after = ServerUsage::read();
    all.sort_unstable();
    let at = |share: f64| {
        all.get((all.len() as f64 * share) as usize)
            .copied()
            .unwrap_or(0) as f64
            / 1000.0
    };
    println!("subscribers        {readers}, and one that never reads");
    println!(
        "events             {total} at {rate} /s, {} of {expected} received",
        all.len()
    );
    println!("delay p50          {:.1} ms", at(0.5));
    println!("delay p99          {:.1} ms", at(0.99));
    println!("delay max          {:.1} ms", at(0.999_999));
    println!("server memory      {} MiB", after.memory_kib / 1024);
    println!(
        "server CPU         {:.1} % of one core",
        (after.ticks - before.ticks) as f64 / seconds as f64
    );
}

/// Writes `total` events at this rate, each with its send time.
async fn send_events(
    store: &dyn TaskStore,
    clock: SystemClock,
    project_id: ProjectId,
    (rate, total): (usize, usize),
) {
    let mut tick = tokio::time::interval(Duration::from_secs(1) / u32::try_from(rate).unwrap());
    for _ in 0..total {
        tick.tick().await;
        let sent = clock.elapsed().as_micros();
        let note = Broadcast::ActivityUpdate {
            project_id,
            activity_type: "bench".to_owned(),
            agent_id: "worker".to_owned(),
            message: format!("{MARK}{sent} {}", "x".repeat(200)),
            task_id: None,
        };
        store.append_events(None, vec![note]).await.unwrap();
    }
}

async fn connect(addr: &str) -> WebSocketStream<TcpStream> {
    let mut request = format!("ws://{addr}/api/v1/ws")
        .into_client_request()
        .unwrap();
    let bearer = format!("Bearer {}", setting("TOKEN")).parse().unwrap();
    request.headers_mut().insert("authorization", bearer);
    let stream = TcpStream::connect(addr).await.unwrap();
    let (socket, _) = tokio_tungstenite::client_async(request, stream)
        .await
        .unwrap();
    socket
}

/// Sends the delay of each event.
async fn listen(
    mut socket: WebSocketStream<TcpStream>,
    clock: SystemClock,
    delays: mpsc::Sender<u64>,
) {
    while let Some(Ok(message)) = socket.next().await {
        let Message::Text(text) = message else {
            continue;
        };
        let Some((_, rest)) = text.split_once(MARK) else {
            continue;
        };
        let sent: u128 = rest.split(' ').next().unwrap().parse().unwrap();
        let micros = clock.elapsed().as_micros().saturating_sub(sent);
        let micros = u64::try_from(micros).unwrap_or(u64::MAX);
        if delays.send(micros).await.is_err() {
            return;
        }
    }
}

/// The server's resource usage so far.
struct ServerUsage {
    /// CPU time in hundredths of a second.
    ticks: u64,
    memory_kib: u64,
}

impl ServerUsage {
    fn read() -> Self {
        let read = |name: &str| {
            std::fs::read_to_string(format!("/proc/{}/{name}", setting("PID"))).unwrap_or_default()
        };
        let stat = read("stat");
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        let tick = |at: usize| {
            fields
                .get(at)
                .and_then(|field| field.parse::<u64>().ok())
                .unwrap_or(0)
        };
        let status = read("status");
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory = memory.and_then(|line| line.split_whitespace().next()?.parse().ok());
        Self {
            ticks: tick(11) + tick(12),
            memory_kib: memory.unwrap_or(0),
        }
    }
}
