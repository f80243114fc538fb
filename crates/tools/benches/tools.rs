//! What a tool call costs: beside a bare process, and beside plain file work without any check.
//!
//! Run with `cargo bench -p windlass-tools`.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use divan::{Bencher, black_box};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use windlass_core::{Tool, Toolbox};
use windlass_sandbox::{Host, Mechanism, Sandbox, init};
use windlass_tools::LocalTools;

fn main() {
    init::run_if_invoked();
    divan::main();
}

/// A folder with a file of 4 KiB, and a runtime.
struct Ground {
    folder: TempDir,
    runtime: Runtime,
}

#[expect(
    clippy::expect_used,
    reason = "without a place to work there is nothing to measure"
)]
impl Ground {
    fn new() -> Self {
        // Not under `/tmp`, which every command has its own of.
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        std::fs::write(folder.path().join("file"), text()).expect("a file");
        let runtime = Runtime::new().expect("a runtime");
        Self { folder, runtime }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn tool(&self, toolbox: &LocalTools, name: &str) -> Arc<dyn Tool> {
        let tools = toolbox.tools(self.folder.path()).expect("tools");
        let mut found = tools.into_iter().filter(|tool| tool.spec().name == name);
        found.next().expect("a tool of this name")
    }

    fn call(&self, bencher: Bencher, tool: &Arc<dyn Tool>, input: &Value) {
        bencher.bench(|| self.runtime.block_on(tool.call(input.clone())));
    }
}

fn text() -> String {
    "sixteen bytes..\n".repeat(256)
}

fn files() -> LocalTools {
    LocalTools::without_isolation("nothing is run here")
}

#[divan::bench]
#[expect(
    clippy::disallowed_methods,
    reason = "this is what the sandbox is compared with"
)]
fn shell_bare(bencher: Bencher) {
    bencher.bench(|| {
        Command::new("bash")
            .args(["-c", "true"])
            .current_dir("/")
            .output()
    });
}

#[divan::bench(args = [Mechanism::Bubblewrap, Mechanism::Landlock])]
fn shell_run(bencher: Bencher, mechanism: Mechanism) {
    let ground = Ground::new();
    let sandbox = ground
        .runtime
        .block_on(Sandbox::with_mechanism(Host::current(), mechanism));
    let Ok(sandbox) = sandbox else { return };
    let tool = ground.tool(&LocalTools::new(sandbox), "shell_run");
    ground.call(bencher, &tool, &json!({"cmd": "true"}));
}

#[divan::bench]
fn read_bare(bencher: Bencher) {
    let ground = Ground::new();
    let path = ground.file("file");
    bencher.bench(|| std::fs::read_to_string(black_box(&path)));
}

#[divan::bench]
fn read_tool(bencher: Bencher) {
    let ground = Ground::new();
    let tool = ground.tool(&files(), "fs_read");
    ground.call(bencher, &tool, &json!({"path": "file"}));
}

#[divan::bench]
fn read_root(bencher: Bencher) {
    let ground = Ground::new();
    let root = windlass_workspace::paths::Root::open(ground.folder.path());
    let Ok(root) = root else { return };
    bencher.bench(|| windlass_tools::fs_read(&root, "file"));
}

#[divan::bench]
fn write_bare(bencher: Bencher) {
    let ground = Ground::new();
    let (path, text) = (ground.file("new"), text());
    bencher.bench(|| std::fs::write(black_box(&path), &text));
}

/// As safe against a power cut as the tool: written aside, brought to the disk, renamed.
#[divan::bench]
fn write_bare_synced(bencher: Bencher) {
    let ground = Ground::new();
    let (aside, path, text) = (ground.file("aside"), ground.file("new"), text());
    bencher.bench(|| {
        std::fs::write(&aside, &text)?;
        std::fs::File::open(&aside)?.sync_all()?;
        std::fs::rename(&aside, &path)?;
        std::fs::File::open(ground.folder.path())?.sync_all()
    });
}

#[divan::bench]
fn write_tool(bencher: Bencher) {
    let ground = Ground::new();
    let tool = ground.tool(&files(), "fs_write");
    ground.call(bencher, &tool, &json!({"path": "new", "content": text()}));
}

#[divan::bench]
fn list_tool(bencher: Bencher) {
    let ground = Ground::new();
    let tool = ground.tool(&files(), "fs_list");
    ground.call(bencher, &tool, &json!({}));
}
