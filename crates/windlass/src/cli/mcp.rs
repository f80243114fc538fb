//! `windlass mcp`: serves the tasks to MCP clients over stdin and stdout.

use std::io::IsTerminal;
use std::sync::Arc;

use clap::Args;
use tokio_util::sync::CancellationToken;
use windlass_server::{McpAccess, McpStdioServer};
use windlass_tasks::Scope;

use super::app::App;
use super::exit::{CliError, Exit};
use super::host_ops::LocalHostOps;
use super::interrupt::Interrupts;
use super::queue::ProjectQueue;
use super::task::person;
use super::task_runtime::{TaskRuntime, test_settings};

#[derive(Debug, Args)]
#[command(
    after_help = "By default the client can read, add and retry tasks and ask agents, but not merge, cancel, answer or \
    approve: the client is usually a model, and these decisions are a person's. Tasks are run by windlass worker or \
    windlass serve, not by this command. windlass serve offers the same tools over HTTP under /mcp."
)]
pub(super) struct Mcp {
    /// Offer only the tools and resources that change nothing and start no agent
    #[arg(long, conflicts_with_all = ["scope", "allow_approve"])]
    read_only: bool,
    /// Scope of the client: read or work (repeatable; default: both)
    #[arg(long, value_name = "SCOPE", value_parser = scope)]
    scope: Vec<Scope>,
    /// Let the client merge changes, cancel tasks, answer questions and decide permission requests
    #[arg(long)]
    allow_approve: bool,
    /// Show the tasks of all projects in the store, not only of this one
    #[arg(long)]
    all_projects: bool,
}

impl Mcp {
    /// Serves until stdin ends or the program is interrupted.
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let task_runtime =
            TaskRuntime::for_store(app, &queue, test_settings(&queue.config)).await?;
        let host_ops = LocalHostOps::new(app, &queue, &task_runtime, app.catalog()?);
        let project = queue.project.id;
        let access = McpAccess {
            scopes: self.scopes(),
            projects: (!self.all_projects).then(|| vec![project]),
            project,
            author: person(app).await,
        };
        let server = McpStdioServer::new(Arc::clone(&queue.store), Arc::new(host_ops), access)
            .with_audit(Arc::clone(&queue.access));
        let mut interrupts = Interrupts::listen()?;
        if std::io::stdin().is_terminal() {
            app.console
                .notice("waiting for an MCP client on stdin: configure one to start this command");
        }
        let stop = CancellationToken::new();
        let serving = server.serve(tokio::io::stdin(), tokio::io::stdout(), stop.clone());
        tokio::pin!(serving);
        tokio::select! {
            ended = &mut serving => {
                ended.map_err(|error| CliError::failed(error.to_string()))?;
                Ok(Exit::Done)
            }
            () = interrupts.next() => {
                stop.cancel();
                Ok(Exit::Interrupted)
            }
        }
    }

    fn scopes(&self) -> Vec<Scope> {
        let mut scopes = match (self.read_only, self.scope.as_slice()) {
            (true, _) => vec![Scope::Read],
            (false, []) => vec![Scope::Read, Scope::Work],
            (false, scopes) => scopes.to_vec(),
        };
        if self.allow_approve {
            scopes.push(Scope::Approve);
        }
        scopes
    }
}

/// Parses a scope that needs no separate flag.
fn scope(text: &str) -> Result<Scope, String> {
    match Scope::from_name(text) {
        Some(scope @ (Scope::Read | Scope::Work)) => Ok(scope),
        Some(Scope::Approve) => Err("pass --allow-approve to allow it".to_owned()),
        Some(_) => Err("no tool needs it: expected read or work".to_owned()),
        None => Err("expected read or work".to_owned()),
    }
}
