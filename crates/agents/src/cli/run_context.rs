//! The input of one run of an agent, and the command line that is built from it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_core::{DirAccess, McpServer, PermissionPolicy, PermissionRule};
use windlass_sandbox::Mechanism;

use super::tokens::RunningTotal;
use crate::{ProgramSettings, Version};

/// Everything that one run depends on, as a profile sees it.
#[derive(Debug, Clone, Copy)]
pub struct RunContext<'a> {
    /// The user's settings.
    pub settings: &'a ProgramSettings,
    /// The installed version.
    pub version: Version,
    /// The sandbox mechanism: an agent's own sandbox may fail to start inside it.
    pub mechanism: Mechanism,
    /// The working directory.
    pub cwd: &'a Path,
    /// What the agent may change in the working directory.
    pub access: DirAccess,
    /// Paths outside the working directory that the agent must be able to read.
    pub readable: &'a [PathBuf],
    /// The model to use.
    pub model: Option<&'a str>,
    /// The permission policy.
    pub permissions: PermissionPolicy,
    /// The project's instructions, for an agent that does not read them on its own.
    pub instructions: Option<&'a str>,
    /// Exceptions to the permission policy.
    pub rules: &'a [PermissionRule],
    /// MCP servers to connect to.
    pub mcp_servers: &'a [McpServer],
    /// A file with the MCP servers, if the transport needs one.
    pub servers_file: Option<&'a Path>,
    /// The JSON Schema that answers must match.
    pub schema: Option<&'a Value>,
    /// A file with the schema, if the transport needs one.
    pub schema_file: Option<&'a Path>,
    /// The session to create or resume.
    pub start: SessionStart<'a>,
    /// The number of the turn in the session, starting at one.
    pub turn: u64,
    /// The session's usage before this run, if known.
    pub before: Option<RunningTotal>,
}

impl RunContext<'_> {
    /// Returns the MCP servers as an object by name, the form that most agents accept.
    pub fn mcp_servers_json(&self) -> Value {
        let entry = |server: &McpServer| {
            let table =
                json!({ "command": server.command, "args": server.args, "env": server.env });
            (server.name.clone(), table)
        };
        Value::Object(self.mcp_servers.iter().map(entry).collect())
    }
}

/// The session that a run creates or resumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStart<'a> {
    /// A new session whose ID the agent chooses.
    Fresh,
    /// A new session with this ID.
    Named(&'a str),
    /// An existing session.
    Resume(&'a str),
}

/// Arguments and environment variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The arguments, without the program.
    pub args: Vec<String>,
    /// Environment variables; never a secret.
    pub env: Vec<(String, String)>,
}

impl CommandLine {
    /// Creates a command with these arguments.
    pub fn new<'a>(args: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            args: args.into_iter().map(str::to_owned).collect(),
            env: Vec::new(),
        }
    }

    /// Adds an argument.
    pub fn arg(&mut self, arg: impl Into<String>) -> &mut Self {
        self.args.push(arg.into());
        self
    }

    /// Adds `--name=value`, so that the value cannot be parsed as a flag.
    pub fn option(&mut self, name: &str, value: &str) -> &mut Self {
        self.arg(format!("--{name}={value}"))
    }

    /// Sets an environment variable.
    pub fn env(&mut self, name: &str, value: impl Into<String>) -> &mut Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }
}

/// The model endpoint that an agent should call.
#[derive(Debug, Clone, Copy)]
pub struct Endpoint<'a> {
    /// The URL as the user wrote it.
    pub url: &'a str,
    /// Whether the profile's first key variable holds a key for it.
    pub has_key: bool,
}

impl Endpoint<'_> {
    /// Returns the URL in the form of OpenAI clients: with `/v1`. A path that already contains a version is
    /// left unchanged.
    pub fn url_with_version(&self) -> String {
        let url = self.url.trim_end_matches('/');
        let is_version = |part: &str| {
            let mut chars = part.chars();
            chars.next() == Some('v') && chars.next().is_some_and(|c| c.is_ascii_digit())
        };
        if url.split('/').skip(3).any(is_version) {
            return url.to_owned();
        }
        format!("{url}/v1")
    }

    /// Returns the URL in the form of Anthropic clients: without `/v1`.
    pub fn url_without_version(&self) -> String {
        let url = self.url.trim_end_matches('/');
        url.strip_suffix("/v1").unwrap_or(url).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_url_is_adapted_to_each_client() {
        let check = |url, with_version: &str, without_version: &str| {
            let endpoint = Endpoint {
                url,
                has_key: false,
            };
            assert_eq!(endpoint.url_with_version(), with_version);
            assert_eq!(endpoint.url_without_version(), without_version);
        };
        check("http://h:1", "http://h:1/v1", "http://h:1");
        check("http://h:1/v1/", "http://h:1/v1", "http://h:1");
        check("https://h/proxy", "https://h/proxy/v1", "https://h/proxy");
        check(
            "https://h/v1beta/openai",
            "https://h/v1beta/openai",
            "https://h/v1beta/openai",
        );
    }
}
