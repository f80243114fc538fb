//! One run of an agent: what it depends on, and the command line it becomes.

use std::path::Path;

use serde_json::{Value, json};
use windlass_core::{McpServer, PermissionPolicy, PermissionRule};
use windlass_sandbox::Mechanism;

use super::tokens::RunningTotal;
use crate::{ProgramSettings, Version};

/// Everything that one run depends on, as a profile sees it.
#[derive(Debug, Clone, Copy)]
pub struct RunContext<'a> {
    /// What the user set.
    pub settings: &'a ProgramSettings,
    /// The version that is installed.
    pub version: Version,
    /// What holds the process in: an agent's own sandbox may not start inside ours.
    pub walls: Mechanism,
    /// Where the agent works.
    pub cwd: &'a Path,
    /// The model to use.
    pub model: Option<&'a str>,
    /// What the agent may do.
    pub permissions: PermissionPolicy,
    /// What the project asks of it, where it does not find that by itself.
    pub instructions: Option<&'a str>,
    /// Exceptions from that.
    pub rules: &'a [PermissionRule],
    /// MCP servers to connect to.
    pub mcp_servers: &'a [McpServer],
    /// The same in a file, where the transport asks for one.
    pub servers_file: Option<&'a Path>,
    /// The schema that answers must fit.
    pub schema: Option<&'a Value>,
    /// The same in a file, where the transport asks for one.
    pub schema_file: Option<&'a Path>,
    /// Which session it is about.
    pub start: SessionStart<'a>,
    /// The number of the turn in the session, counted from one.
    pub turn: u64,
    /// What the session consumed before; `None` if nobody knows.
    pub before: Option<RunningTotal>,
}

impl RunContext<'_> {
    /// The MCP servers as a table by name, the form that most agents want.
    pub fn mcp_servers_json(&self) -> Value {
        let entry = |server: &McpServer| {
            let table =
                json!({ "command": server.command, "args": server.args, "env": server.env });
            (server.name.clone(), table)
        };
        Value::Object(self.mcp_servers.iter().map(entry).collect())
    }
}

/// Which session a run is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStart<'a> {
    /// A new one that the agent names.
    Fresh,
    /// A new one of this name.
    Named(&'a str),
    /// An earlier one.
    Resume(&'a str),
}

/// Arguments and variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The arguments, without the program.
    pub args: Vec<String>,
    /// Variables; never a secret.
    pub env: Vec<(String, String)>,
}

impl CommandLine {
    /// A command with these arguments.
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

    /// Adds `--name=value`, so that the value cannot be taken for a flag.
    pub fn option(&mut self, name: &str, value: &str) -> &mut Self {
        self.arg(format!("--{name}={value}"))
    }

    /// Sets a variable.
    pub fn env(&mut self, name: &str, value: impl Into<String>) -> &mut Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }
}

/// The model endpoint that an agent is to call.
#[derive(Debug, Clone, Copy)]
pub struct Endpoint<'a> {
    /// As the user wrote it.
    pub url: &'a str,
    /// Whether there is a key for it, in the profile's first variable.
    pub has_key: bool,
}

impl Endpoint<'_> {
    /// The address as clients of OpenAI's APIs want it: with the version. A path that names one is left alone.
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

    /// The address as clients of Anthropic's API want it: without the version.
    pub fn url_without_version(&self) -> String {
        let url = self.url.trim_end_matches('/');
        url.strip_suffix("/v1").unwrap_or(url).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_said_once_and_written_as_each_client_wants_it() {
        let check = |url, versioned: &str, bare: &str| {
            let endpoint = Endpoint {
                url,
                has_key: false,
            };
            assert_eq!(endpoint.url_with_version(), versioned);
            assert_eq!(endpoint.url_without_version(), bare);
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
