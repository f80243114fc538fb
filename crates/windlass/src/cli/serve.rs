//! `windlass serve`: API, WebSocket and dashboard, with workers beside them.

mod fd_limit;
mod host_ops;
mod models;
mod request_dirs;
mod token;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use tokio_util::sync::CancellationToken;
use windlass_core::ExposeSecret;
use windlass_runner::WorkerReport;
use windlass_server::{Server, ServerError, ServerLimits, Token};

use super::app::App;
use super::console::{QUIET, STRONG};
use super::exit::{CliError, Exit};
use super::interrupt::Interrupts;
use super::queue::{TaskQueue, repository};
use super::task_runtime::{TaskRuntime, test_settings};
use super::worker::WorkerArgs;
use crate::agent_catalog::AgentCatalog;
use host_ops::LocalHostOps;

#[derive(Debug, Args)]
#[command(
    after_help = "The token is random, and kept for the next start in a file that only you can read. \
    On a terminal the link that holds it is printed; elsewhere only where that file is, so that no log holds it."
)]
pub(super) struct Serve {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7420")]
    listen: SocketAddr,
    /// Listen where other machines can reach it, although nothing is encrypted on the way
    #[arg(long)]
    insecure_listen: bool,
    /// A further name by which it may be called, with its port, such as that of a proxy; may be given several times
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// Make a new token; who knows the old one must be told it
    #[arg(long)]
    new_token: bool,
    /// Take no tasks: leave that to windlass worker
    #[arg(long)]
    no_worker: bool,
    #[command(flatten)]
    hands: WorkerArgs,
}

impl Serve {
    /// Serves until it is asked to stop: once gently, twice at once.
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        repository(&app.inputs.cwd).map_err(|_| no_repository(&app.inputs.cwd))?;
        let queue = TaskQueue::open(app).await?;
        let crew = TaskRuntime::for_store(app, &queue.config, test_settings(&queue.config)).await?;
        let roster = self.hands.catalog(app, &queue);
        let worker = self.worker(app, &queue, &crew, roster.clone());
        let key = token::load_or_create(&app.inputs, self.new_token)?;
        // Kept to the end: what requests have there goes with it.
        let rooms = models::request_dirs(app)?;
        let mut limits = ServerLimits::default();
        limits.connections = fd_limit::raise_limit(limits.connections);
        let desk = LocalHostOps::new(app, &queue, &crew);
        let url = queue.config.store_url().unwrap_or_default();
        let mut server = Server::new(
            Arc::clone(&queue.store),
            Arc::new(desk),
            Token::new(&key.token),
        )
        .with_store_kind(url.split(':').next().unwrap_or_default())
        .with_project(queue.project.id)
        .with_agent_api(models::agent_api(&queue, &rooms, roster))
        .with_hosts(self.allow_host.clone())
        .with_limits(limits)
        .allow_non_loopback(self.insecure_listen);
        if let Some(worker) = &worker {
            server = server.with_worker(worker.pool.clone());
        }
        let mut interrupts = Interrupts::listen()?;
        let running = server.listen(self.listen).await.map_err(listen_error)?;
        self.print_ready(app, &running.url(), &key)?;

        let stop = CancellationToken::new();
        let work = run_worker(worker, stop.clone());
        tokio::pin!(work);
        let mut interrupted = false;
        loop {
            tokio::select! {
                report = &mut work => {
                    running.stop().await;
                    report?;
                    return Ok(Exit::Done);
                }
                () = interrupts.next() => {
                    if interrupted {
                        return Ok(Exit::Interrupted);
                    }
                    interrupted = true;
                    app.console.progress(QUIET, "no new requests and no new tasks; what is under way has 20 s to end; interrupt again to leave at once");
                    running.drain();
                    stop.cancel();
                }
            }
        }
    }

    fn worker(
        &self,
        app: &App<'_>,
        queue: &TaskQueue,
        crew: &TaskRuntime,
        roster: AgentCatalog,
    ) -> Option<windlass_runner::Worker> {
        if self.no_worker {
            return None;
        }
        if let Err(error) = roster.find(None) {
            app.console
                .notice(&format!("tasks that name no agent will fail: {error}"));
        }
        Some(self.hands.worker(app, queue, crew, roster))
    }

    fn print_ready(
        &self,
        app: &App<'_>,
        url: &str,
        key: &token::ServerToken,
    ) -> Result<(), CliError> {
        app.console
            .line(&format!("ready at {STRONG}{url}{STRONG:#}"))?;
        if self.insecure_listen && !self.listen.ip().is_loopback() {
            app.console.notice("other machines can reach this, and nothing is encrypted on the way: whoever can listen in learns the token");
        }
        if app.console.is_interactive() {
            let token = key.token.expose_secret();
            app.console.line(&format!("open {url}/#token={token}"))?;
        } else {
            let file = key.file.display();
            app.console
                .progress(QUIET, &format!("the token is in {file}"));
        }
        Ok(())
    }
}

/// Works until it is told to stop.
async fn run_worker(
    worker: Option<windlass_runner::Worker>,
    stop: CancellationToken,
) -> Result<WorkerReport, windlass_runner::Error> {
    match worker {
        Some(worker) => worker.run(stop).await,
        None => {
            stop.cancelled().await;
            Ok(WorkerReport::default())
        }
    }
}

/// What somebody is told who serves from a folder without a repository.
fn no_repository(cwd: &Path) -> CliError {
    CliError::usage(format!(
        "{} is not inside a git repository, and a server keeps tasks and traces with one: start it in the repository that \
         it is for; for agents as models alone an empty one will do (git init)",
        cwd.display()
    ))
}

fn listen_error(error: ServerError) -> CliError {
    match error {
        ServerError::Store(error) => error.into(),
        ServerError::NotLoopback { .. } => CliError::usage(format!(
            "{error}, or say --insecure-listen if that is what you want"
        )),
        error => CliError::usage(error.to_string()),
    }
}
