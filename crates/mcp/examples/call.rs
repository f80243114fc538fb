//! Starts an MCP server in the current directory, calls one of its tools and prints the result:
//! `call MECHANISM TOOL ARGUMENTS PROGRAM [ARGUMENT…]`.
//!
//! `call auto echo '{"text":"hello"}' my-server` shows what a model would get. The tests run a hostile server with
//! it.

use std::io::Write;

use anyhow::{Context, Result, bail};
use windlass_core::{DirAccess, McpServer};
use windlass_mcp::McpServers;
use windlass_sandbox::{Host, Mechanism, Sandbox, init};

const USAGE: &str = "call MECHANISM TOOL ARGUMENTS PROGRAM [ARGUMENT…]";

fn main() -> Result<()> {
    init::run_if_invoked();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(call())
}

async fn call() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let host = Host::current();
    let sandbox = match args.next().as_deref() {
        Some("bubblewrap") => Sandbox::with_mechanism(host, Mechanism::Bubblewrap).await?,
        Some("landlock") => Sandbox::with_mechanism(host, Mechanism::Landlock).await?,
        Some("none") => Sandbox::with_mechanism(host, Mechanism::None).await?,
        Some("auto") => Sandbox::detect(host).await?,
        _ => bail!("{USAGE}: the mechanism is bubblewrap, landlock, none or auto"),
    };
    let tool = args.next().context(USAGE)?;
    let arguments = args.next().context(USAGE)?;
    let server = McpServer {
        name: "server".to_owned(),
        command: args.next().context(USAGE)?,
        args: args.collect(),
        env: Default::default(),
        network: None,
    };
    let dir = std::env::current_dir()?;
    let servers = McpServers::connect(&sandbox, &[server], &dir, DirAccess::Files).await?;
    let arguments = serde_json::from_str(&arguments)?;
    let result = servers.call("server", &tool, arguments).await?;
    let text = result
        .as_str()
        .map_or_else(|| result.to_string(), str::to_owned);
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}
