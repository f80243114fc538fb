//! The cost of a tool call, compared with a bare process and with plain file operations.
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

/// A directory with a file of 4 KiB, and a runtime.
struct Setup {
    dir: TempDir,
    runtime: Runtime,
}

#[expect(
    clippy::expect_used,
    reason = "without a working directory there is nothing to measure"
)]
impl Setup {
    fn new() -> Self {
        // Not under `/tmp`, because every sandboxed command has its own.
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        std::fs::write(dir.path().join("file"), text()).expect("a file");
        let runtime = Runtime::new().expect("a runtime");
        Self { dir, runtime }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn tool(&self, toolbox: &LocalTools, name: &str) -> Arc<dyn Tool> {
        let tools = toolbox
            .tools(self.dir.path(), windlass_core::DirAccess::Files)
            .expect("tools");
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
    LocalTools::without_isolation("no command is run in this benchmark")
}

#[divan::bench]
#[expect(clippy::disallowed_methods, reason = "the baseline for the sandbox")]
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
    let setup = Setup::new();
    let sandbox = setup
        .runtime
        .block_on(Sandbox::with_mechanism(Host::current(), mechanism));
    let Ok(sandbox) = sandbox else { return };
    let tool = setup.tool(&LocalTools::new(sandbox), "shell_run");
    setup.call(bencher, &tool, &json!({"cmd": "true"}));
}

#[divan::bench]
fn read_bare(bencher: Bencher) {
    let setup = Setup::new();
    let path = setup.file("file");
    bencher.bench(|| std::fs::read_to_string(black_box(&path)));
}

#[divan::bench]
fn read_tool(bencher: Bencher) {
    let setup = Setup::new();
    let tool = setup.tool(&files(), "fs_read");
    setup.call(bencher, &tool, &json!({"path": "file"}));
}

#[divan::bench]
fn read_root(bencher: Bencher) {
    let setup = Setup::new();
    let root = windlass_workspace::paths::Root::open(setup.dir.path());
    let Ok(root) = root else { return };
    bencher.bench(|| windlass_tools::fs_read(&root, "file"));
}

#[divan::bench]
fn write_bare(bencher: Bencher) {
    let setup = Setup::new();
    let (path, text) = (setup.file("new"), text());
    bencher.bench(|| std::fs::write(black_box(&path), &text));
}

/// As durable as the tool: written to a temporary file, synced, renamed.
#[divan::bench]
fn write_bare_synced(bencher: Bencher) {
    let setup = Setup::new();
    let (temp, path, text) = (setup.file("temp"), setup.file("new"), text());
    bencher.bench(|| {
        std::fs::write(&temp, &text)?;
        std::fs::File::open(&temp)?.sync_all()?;
        std::fs::rename(&temp, &path)?;
        std::fs::File::open(setup.dir.path())?.sync_all()
    });
}

#[divan::bench]
fn write_tool(bencher: Bencher) {
    let setup = Setup::new();
    let tool = setup.tool(&files(), "fs_write");
    setup.call(bencher, &tool, &json!({"path": "new", "content": text()}));
}

#[divan::bench]
fn list_tool(bencher: Bencher) {
    let setup = Setup::new();
    let tool = setup.tool(&files(), "fs_list");
    setup.call(bencher, &tool, &json!({}));
}
