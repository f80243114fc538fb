//! A few tools for tests: enough to read, write, fail and hang.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Barrier;
use windlass_core::{Error, Result, Tool, ToolKind, ToolOutput, ToolSpec, Toolbox};

/// A box with `fs_read`, `fs_write` and `shell_run`, and `meet` if there is somebody to meet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Box3 {
    /// Calls of `meet` end only when so many are under way.
    pub(crate) meeting: Option<Arc<Barrier>>,
}

impl Toolbox for Box3 {
    fn tools(&self, root: &Path) -> Result<Vec<Arc<dyn Tool>>> {
        let mut tools: Vec<Arc<dyn Tool>> = vec![
            Own::tool("fs_read", ToolKind::Read, &["path"], root, read),
            Own::tool(
                "fs_write",
                ToolKind::Write,
                &["path", "content"],
                root,
                write,
            ),
            Own::tool("shell_run", ToolKind::Execute, &["command"], root, shell),
        ];
        if let Some(barrier) = &self.meeting {
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
    ToolSpec {
        name: name.to_owned(),
        description: format!("{name}, for tests"),
        parameters: json!({ "type": "object", "properties": properties, "required": fields }),
        kind,
    }
}

type Work = fn(&Path, &Value) -> BoxFuture<'static, Result<ToolOutput>>;

#[derive(Debug)]
struct Own {
    spec: ToolSpec,
    root: PathBuf,
    work: Work,
}

impl Own {
    fn tool(name: &str, kind: ToolKind, fields: &[&str], root: &Path, work: Work) -> Arc<dyn Tool> {
        Arc::new(Self {
            spec: spec(name, kind, fields),
            root: root.to_owned(),
            work,
        })
    }
}

impl Tool for Own {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, input: Value) -> BoxFuture<'_, Result<ToolOutput>> {
        (self.work)(&self.root, &input)
    }
}

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
            Ok(said(true, format!("met {}", input["who"])))
        })
    }
}

fn said(success: bool, text: String) -> ToolOutput {
    ToolOutput {
        success,
        output: json!({ "text": text }),
        text,
    }
}

fn word<'a>(input: &'a Value, key: &str) -> &'a str {
    input[key].as_str().unwrap_or_default()
}

fn read(root: &Path, input: &Value) -> BoxFuture<'static, Result<ToolOutput>> {
    let path = word(input, "path");
    let done = match std::fs::read_to_string(root.join(path)) {
        _ if path.contains("..") => Err(Error::InvalidInput("path escapes sandbox".to_owned())),
        Ok(text) => Ok(said(true, text)),
        Err(_) => Ok(said(false, format!("read: not found: {path}"))),
    };
    Box::pin(async { done })
}

fn write(root: &Path, input: &Value) -> BoxFuture<'static, Result<ToolOutput>> {
    let path = word(input, "path");
    let done = match std::fs::write(root.join(path), word(input, "content")) {
        Ok(()) => said(true, format!("wrote {path}")),
        Err(error) => said(false, format!("write: {error}")),
    };
    Box::pin(async { Ok(done) })
}

/// `true` succeeds, `tail` never ends, all else fails.
fn shell(_root: &Path, input: &Value) -> BoxFuture<'static, Result<ToolOutput>> {
    let command = word(input, "command").to_owned();
    Box::pin(async move {
        if command.starts_with("tail") {
            std::future::pending::<()>().await;
        }
        Ok(said(command == "true", format!("ran {command}")))
    })
}
