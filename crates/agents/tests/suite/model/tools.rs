//! Tools for tests that read, write, fail and hang.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Barrier;
use windlass_core::{DirAccess, Error, Result, Tool, ToolKind, ToolOutput, ToolSpec, Toolbox};

/// A toolbox with `fs_read`, `fs_write` and `shell_run`, and `meet` if there is a barrier.
#[derive(Debug, Clone, Default)]
pub(crate) struct TestTools {
    /// Calls of `meet` end only when they have all reached this barrier.
    pub(crate) barrier: Option<Arc<Barrier>>,
}

impl Toolbox for TestTools {
    fn tools(&self, root: &Path, _: DirAccess) -> Result<Vec<Arc<dyn Tool>>> {
        let mut tools: Vec<Arc<dyn Tool>> = vec![
            FnTool::tool("fs_read", ToolKind::Read, &["path"], root, read),
            FnTool::tool(
                "fs_write",
                ToolKind::Write,
                &["path", "content"],
                root,
                write,
            ),
            FnTool::tool("shell_run", ToolKind::Execute, &["command"], root, shell),
        ];
        if let Some(barrier) = &self.barrier {
            let spec = spec("meet", ToolKind::Read, &["who"]);
            let barrier = Arc::clone(barrier);
            tools.push(Arc::new(Meet { spec, barrier }));
        }
        Ok(tools)
    }
}

fn spec(name: &str, kind: ToolKind, fields: &[&str]) -> ToolSpec {
    let properties: serde_json::Map<String, Value> = fields
        .iter()
        .map(|field| ((*field).to_owned(), json!({ "type": "string" })))
        .collect();
    let parameters = json!({ "type": "object", "properties": properties, "required": fields });
    ToolSpec::new(name, kind, format!("{name}, for tests"), parameters)
}

type ToolFn = fn(&Path, &Value) -> BoxFuture<'static, Result<ToolOutput>>;

/// A tool that runs a function.
#[derive(Debug)]
struct FnTool {
    spec: ToolSpec,
    root: PathBuf,
    run: ToolFn,
}

impl FnTool {
    fn tool(
        name: &str,
        kind: ToolKind,
        fields: &[&str],
        root: &Path,
        run: ToolFn,
    ) -> Arc<dyn Tool> {
        Arc::new(Self {
            spec: spec(name, kind, fields),
            root: root.to_owned(),
            run,
        })
    }
}

impl Tool for FnTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, input: Value) -> BoxFuture<'_, Result<ToolOutput>> {
        (self.run)(&self.root, &input)
    }
}

/// A read-only tool that waits at a barrier.
#[derive(Debug)]
struct Meet {
    spec: ToolSpec,
    barrier: Arc<Barrier>,
}

impl Tool for Meet {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, input: Value) -> BoxFuture<'_, Result<ToolOutput>> {
        Box::pin(async move {
            self.barrier.wait().await;
            Ok(output(true, format!("met {}", input["who"])))
        })
    }
}

fn output(success: bool, text: String) -> ToolOutput {
    let output = json!({ "text": text });
    ToolOutput::new(success, text, output)
}

fn string<'a>(input: &'a Value, key: &str) -> &'a str {
    input[key].as_str().unwrap_or_default()
}

fn read(root: &Path, input: &Value) -> BoxFuture<'static, Result<ToolOutput>> {
    let path = string(input, "path");
    let done = match std::fs::read_to_string(root.join(path)) {
        _ if path.contains("..") => Err(Error::InvalidInput("path escapes sandbox".to_owned())),
        Ok(text) => Ok(output(true, text)),
        Err(_) => Ok(output(false, format!("read: not found: {path}"))),
    };
    Box::pin(async { done })
}

fn write(root: &Path, input: &Value) -> BoxFuture<'static, Result<ToolOutput>> {
    let path = string(input, "path");
    let done = match std::fs::write(root.join(path), string(input, "content")) {
        Ok(()) => output(true, format!("wrote {path}")),
        Err(error) => output(false, format!("write: {error}")),
    };
    Box::pin(async { Ok(done) })
}

/// Simulates a shell: `true` succeeds, `tail` never ends, every other command fails.
fn shell(_root: &Path, input: &Value) -> BoxFuture<'static, Result<ToolOutput>> {
    let command = string(input, "command").to_owned();
    Box::pin(async move {
        if command.starts_with("tail") {
            std::future::pending::<()>().await;
        }
        Ok(output(command == "true", format!("ran {command}")))
    })
}
