//! Measures the cost of a process under each mechanism, compared with an unsandboxed one, and how
//! fast lines are read.
//!
//! Run with `cargo bench -p windlass-sandbox`.

use std::process::Command;

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use tokio::runtime::Runtime;
use windlass_sandbox::{
    BoundedLines, CommandSpec, Host, HostRule, Mechanism, Profile, Result, Sandbox, init,
};

fn main() {
    init::run_if_invoked();
    divan::main();
}

fn runtime() -> Runtime {
    #[expect(
        clippy::expect_used,
        reason = "without a runtime there is nothing to measure"
    )]
    Runtime::new().expect("a runtime")
}

#[divan::bench]
#[expect(
    clippy::disallowed_methods,
    reason = "this is what the sandbox is compared with"
)]
fn spawn_bare(bencher: Bencher) {
    bencher.bench(|| Command::new("true").current_dir("/").output());
}

/// An agent has a list of hosts. `scripts/bench-sandbox` compares these names with those of an earlier version.
#[divan::bench(args = [
    "bubblewrap agent", "bubblewrap open agent", "bubblewrap tool", "landlock agent", "landlock tool", "none tool",
])]
fn spawn(bencher: Bencher, setting: &str) {
    let mechanism = match setting.split(' ').next() {
        Some("bubblewrap") => Mechanism::Bubblewrap,
        Some("landlock") => Mechanism::Landlock,
        _ => Mechanism::None,
    };
    let hosts: Option<HostRule> = "api.example.com:443".parse().ok();
    let profile = match setting.split_once(' ') {
        Some((_, "agent")) => Profile::agent().hosts(hosts),
        Some((_, "open agent")) => Profile::agent().network(true),
        _ => Profile::tool(),
    };
    let runtime = runtime();
    let sandbox: Result<Sandbox> =
        runtime.block_on(Sandbox::with_mechanism(Host::current(), mechanism));
    bencher.bench(|| {
        let spec = CommandSpec::new("true", "/usr", profile.clone());
        runtime.block_on(async {
            sandbox
                .as_ref()
                .map(|sandbox| sandbox.run(spec))
                .ok()?
                .await
                .ok()
        })
    });
}

#[divan::bench(args = [80, 1000, 100_000])]
fn read_lines(bencher: Bencher, line_bytes: usize) {
    const TOTAL: usize = 16 << 20;
    let text = [vec![b'x'; line_bytes - 1], vec![b'\n']]
        .concat()
        .repeat(TOTAL / line_bytes);
    let runtime = runtime();
    bencher.counter(BytesCount::new(text.len())).bench(|| {
        runtime.block_on(async {
            let mut lines = BoundedLines::new(text.as_slice(), 1 << 20);
            while let Ok(Some(line)) = lines.next().await {
                black_box(line);
            }
        });
    });
}
