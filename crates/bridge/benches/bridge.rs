//! The bridge as a server, for `scripts/bench bridge`.
//!
//! `bridge UPSTREAM DATABASE` prints an address and a token for calls of one agent, and runs until its input ends. Every call
//! is stored in the database, as in the product.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking, and prints its results"
)]

use std::io::Read;

use windlass_agents::bridge::{ModelBridge, ModelRoute};
use windlass_bridge::{Bridge, MeterSettings};
use windlass_core::{ExposeSecret, SecretString};
use windlass_store::StoreSettings;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [upstream, database] = args.as_slice() else {
        // `cargo bench` runs all benchmarks.
        println!("bridge: run scripts/bench bridge");
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(serve(upstream, database));
}

async fn serve(upstream: &str, database: &str) {
    let url = format!("sqlite:{database}");
    let store = windlass_store::open_all(&url, StoreSettings::default())
        .await
        .unwrap();
    let bridge = Bridge::new(MeterSettings::default());
    bridge.store_in(store.calls);
    let access = bridge
        .open(ModelRoute {
            agent: "bench".to_owned(),
            upstream: upstream.to_owned(),
            keys: vec![SecretString::from("scripted")],
            ..ModelRoute::default()
        })
        .unwrap();
    println!("{} {}", access.url, access.tokens[0].expose_secret());
    let end = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    end.await.unwrap().unwrap();
    bridge.flush().await;
}
