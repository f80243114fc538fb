//! The tools of an agent that plays a script: files in its workspace, a sandboxed shell, MCP
//! servers.

use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};
use windlass_core::limits::OUTPUT_BYTES;
use windlass_core::{DirAccess, Error, ErrorCode, McpServer};
use windlass_mcp::{McpServers, ResourceBody};
use windlass_sandbox::{CommandSpec, Host, Profile, Sandbox};
use windlass_scripted::script::Intent;

use super::ScriptedSession;

/// Time limit of a command of a script.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// The result of a tool call.
pub(super) struct ToolOutcome {
    pub(super) output: Value,
    pub(super) success: bool,
}

impl ToolOutcome {
    fn success(output: impl Into<Value>) -> Self {
        Self {
            output: output.into(),
            success: true,
        }
    }

    fn failure(problem: impl Into<String>) -> Self {
        Self {
            output: Value::String(problem.into()),
            success: false,
        }
    }
}

/// The tools of one turn.
pub(super) struct ScriptTools {
    cwd: PathBuf,
    servers: Option<McpServers>,
    calls: usize,
}

impl ScriptTools {
    pub(super) async fn open(session: &ScriptedSession) -> Result<Self, Error> {
        let servers = match session.servers.as_slice() {
            [] => None,
            servers => Some(connect(servers, &session.cwd).await?),
        };
        Ok(Self {
            cwd: session.cwd.clone(),
            servers,
            calls: 0,
        })
    }

    /// Returns the names of the tools, including those of the MCP servers.
    pub(super) fn names(&self) -> Vec<String> {
        let own = ["Bash", "Write", "Edit", "Read"].map(str::to_owned);
        let served = self.servers.iter().flat_map(McpServers::tools);
        own.into_iter()
            .chain(served.map(|tool| tool.qualified_name()))
            .collect()
    }

    /// Returns the id, name and input with which a tool call is reported.
    pub(super) fn announce(&mut self, intent: &Intent) -> (String, String, Value) {
        self.calls += 1;
        let full_path = |path: &str| self.cwd.join(path).to_string_lossy().into_owned();
        let (name, input) = match intent {
            Intent::Shell { command } => ("Bash".to_owned(), json!({ "command": command })),
            Intent::WriteFile { path, content } => (
                "Write".to_owned(),
                json!({ "path": full_path(path), "content": content }),
            ),
            Intent::EditFile { path, old, new } => (
                "Edit".to_owned(),
                json!({ "path": full_path(path), "old": old, "new": new }),
            ),
            Intent::ReadFile { path } => ("Read".to_owned(), json!({ "path": full_path(path) })),
            Intent::Mcp {
                server,
                tool,
                arguments,
            } => (format!("mcp__{server}__{tool}"), json!(arguments)),
            Intent::McpResources { server } => {
                ("list_mcp_resources".to_owned(), json!({ "server": server }))
            }
            Intent::McpResource { server, uri } => (
                "read_mcp_resource".to_owned(),
                json!({ "server": server, "uri": uri }),
            ),
            Intent::Raw { name, arguments } => (name.clone(), arguments.clone()),
            other => (other.kind().to_string(), Value::Null),
        };
        (format!("call-{}", self.calls), name, input)
    }

    /// Executes an intent.
    pub(super) async fn call(&mut self, intent: &Intent) -> ToolOutcome {
        let result = match intent {
            Intent::Shell { command } => self.shell(command).await,
            Intent::ReadFile { path } => self.read(path).map(ToolOutcome::success),
            Intent::WriteFile { path, content } => self.write(path, content),
            Intent::EditFile { path, old, new } => self.edit(path, old, new),
            Intent::Mcp {
                server,
                tool,
                arguments,
            } => self.call_mcp(server, tool, arguments).await,
            Intent::McpResources { server } => self.list_resources(server),
            Intent::McpResource { server, uri } => self.read_resource(server, uri).await,
            Intent::Raw { name, .. } => Err(format!("unknown tool: {name:?}")),
            other => Err(format!("{} is not supported", other.kind())),
        };
        result.unwrap_or_else(ToolOutcome::failure)
    }

    fn servers(&self) -> Result<&McpServers, String> {
        self.servers
            .as_ref()
            .ok_or_else(|| "the session has no MCP servers".to_owned())
    }

    async fn call_mcp(
        &self,
        server: &str,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<ToolOutcome, String> {
        let result = self.servers()?.call(server, tool, arguments.clone()).await;
        result
            .map(ToolOutcome::success)
            .map_err(|error| error.to_string())
    }

    fn list_resources(&self, server: &str) -> Result<ToolOutcome, String> {
        let resources = self
            .servers()?
            .resources(server)
            .map_err(|error| error.to_string())?;
        let uris: Vec<&str> = resources
            .iter()
            .map(|resource| resource.uri.as_str())
            .collect();
        Ok(ToolOutcome::success(json!(uris)))
    }

    async fn read_resource(&self, server: &str, uri: &str) -> Result<ToolOutcome, String> {
        let parts = self
            .servers()?
            .read(server, uri)
            .await
            .map_err(|error| error.to_string())?;
        let texts = parts.into_iter().map(|part| match part.body {
            ResourceBody::Text(text) | ResourceBody::Base64(text) => text,
        });
        Ok(ToolOutcome::success(texts.collect::<Vec<_>>().join("\n")))
    }

    async fn shell(&self, command: &str) -> Result<ToolOutcome, String> {
        let to_message = |error: windlass_sandbox::Error| error.to_string();
        let sandbox = Sandbox::detect(Host::current()).await.map_err(to_message)?;
        let spec = CommandSpec::new("sh", &self.cwd, Profile::tool())
            .args(["-c", command])
            .deadline(COMMAND_TIMEOUT);
        let output = sandbox.run(spec).await.map_err(to_message)?;
        Ok(ToolOutcome {
            output: json!({
                "stdout": output.stdout.text(),
                "stderr": output.stderr.text(),
                "code": output.exit.code,
            }),
            success: output.exit.success(),
        })
    }

    fn read(&self, path: &str) -> Result<String, String> {
        let file = std::fs::File::open(self.inside(path)?)
            .map_err(|error| problem("read", path, &error))?;
        let mut bytes = Vec::new();
        file.take(OUTPUT_BYTES as u64)
            .read_to_end(&mut bytes)
            .map_err(|error| problem("read", path, &error))?;
        String::from_utf8(bytes).map_err(|_| format!("read: not UTF-8: {path}"))
    }

    fn write(&self, path: &str, content: &str) -> Result<ToolOutcome, String> {
        let target = self.inside(path)?;
        let dir = target.parent().unwrap_or(&self.cwd);
        std::fs::create_dir_all(dir)
            .and_then(|()| std::fs::write(&target, content))
            .map_err(|error| problem("write", path, &error))?;
        Ok(ToolOutcome::success(format!("wrote {path}")))
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Result<ToolOutcome, String> {
        let text = self.read(path)?;
        match text.matches(old).count() {
            1 => self.write(path, &text.replacen(old, new, 1)),
            count => Err(format!(
                "edit: the text occurs {count} times in {path}, expected once"
            )),
        }
    }

    /// Returns the full path of a file, if it is in the workspace: a script may try to leave it.
    fn inside(&self, path: &str) -> Result<PathBuf, String> {
        let outside = || format!("path escapes the workspace: {path}");
        let relative = Path::new(path)
            .strip_prefix(&self.cwd)
            .unwrap_or(Path::new(path));
        let is_plain = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !is_plain || relative.as_os_str().is_empty() {
            return Err(outside());
        }
        let target = self.cwd.join(relative);
        // The nearest existing directory must really be in the workspace.
        let real = target.ancestors().find_map(|dir| dir.canonicalize().ok());
        let root = self.cwd.canonicalize().map_err(|_| outside())?;
        real.filter(|real| real.starts_with(root))
            .map(|_| target)
            .ok_or_else(outside)
    }
}

async fn connect(servers: &[McpServer], cwd: &Path) -> Result<McpServers, Error> {
    let unavailable = |problem: String| Error::agent(ErrorCode::BackendError, problem);
    let sandbox = Sandbox::detect(Host::current())
        .await
        .map_err(|error| unavailable(error.to_string()))?;
    let connected = McpServers::connect(&sandbox, servers, cwd, DirAccess::Files).await;
    connected.map_err(|error| unavailable(error.to_string()))
}

fn problem(what: &str, path: &str, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("{what}: not found: {path}"),
        std::io::ErrorKind::PermissionDenied => format!("{what}: permission denied: {path}"),
        _ => format!("{what}: {error}: {path}"),
    }
}
