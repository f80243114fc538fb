//! `windlass serve`: serves the HTTP API, WebSocket and dashboard, and runs workers.

mod fd_limit;
mod git;
mod models;
mod request_dirs;
mod tls;
pub(super) mod token;

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
use super::host_ops::LocalHostOps;
use super::interrupt::Interrupts;
use super::outbox::Outbox;
use super::queue::ProjectQueue;
use super::repository::repository;
use super::task_runtime::{TaskRuntime, test_settings};
use super::worker_args::WorkerArgs;
use crate::agent_catalog::AgentCatalog;
use crate::config::Flag;

#[derive(Debug, Args)]
#[command(
    after_help = "The server's own token is random and allows everything. It is stored for the next start in a file that \
    only you can read; windlass token creates tokens that allow less. On a terminal, a link that contains it is printed; otherwise only the path of the file, so that no log contains it."
)]
pub(super) struct Serve {
    /// Address to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7420")]
    listen: SocketAddr,
    /// Listen on a non-loopback address although connections are not encrypted
    #[arg(long)]
    insecure_listen: bool,
    #[command(flatten)]
    tls: tls::TlsArgs,
    /// Offer a git repository for each project, at /git/PROJECT.git (config: server.git)
    #[arg(long)]
    git: bool,
    /// Additional allowed Host header, with port, such as that of a proxy (repeatable)
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// Generate a new token and invalidate the old one
    #[arg(long)]
    new_token: bool,
    /// Do not run workers: only serve, and leave tasks to windlass worker
    #[arg(long)]
    no_worker: bool,
    #[command(flatten)]
    worker_args: WorkerArgs,
}

impl Serve {
    /// Returns the flags that set a key of the configuration.
    pub(super) fn settings(&self, cwd: &Path) -> Vec<Flag> {
        self.tls.settings(cwd)
    }

    /// Serves until it is interrupted: the first signal shuts down gracefully, the second exits immediately.
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        // Before anything else, so that the token is masked from the first start on.
        let key = token::load_or_create(&app.inputs, self.new_token)?;
        let queue = match repository(&app.inputs.cwd) {
            Ok(root) => ProjectQueue::open_at(app, root).await?,
            Err(_) => self.open_without_repository(app).await?,
        };
        let task_runtime =
            TaskRuntime::for_store(app, &queue, test_settings(&queue.config)).await?;
        let agents = self.worker_args.catalog(app).await?;
        let worker = self.worker(app, &queue, &task_runtime, agents.clone())?;
        // Dropped at the end, which removes the working directories of the requests.
        let request_dirs = models::request_dirs(app)?;
        let agent_api = models::agent_api(&queue, &request_dirs, agents.clone());
        let host_ops = LocalHostOps::new(app, &queue, &task_runtime, agents);
        let mut server = Server::new(
            Arc::clone(&queue.store),
            Arc::clone(&queue.access),
            Arc::new(host_ops),
            Token::new(&key.token),
        )
        .with_agent_api(agent_api);
        if let Some(worker) = &worker {
            server = server.with_worker(worker.pool.clone());
        }
        let server = self.configure(app, &queue, server).await?;
        let mut interrupts = Interrupts::listen()?;
        let running = server.listen(self.listen).await.map_err(listen_error)?;
        self.print_ready(app, running.url(), &key)?;
        if self.has_git(&queue) {
            let url = running.url();
            app.console
                .progress(QUIET, &format!("repositories are at {url}/git/PROJECT.git"));
        }

        let stop = CancellationToken::new();
        let only = self.worker_args.only(&queue.project);
        let outbox = Outbox::open(app, &queue, only).await?;
        let work = outbox.run_with(run_worker(worker, stop.clone()), &stop);
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
                    app.console.progress(QUIET, "shutting down: waiting up to 20 s for running requests and tasks; press Ctrl-C again to exit now");
                    running.drain();
                    stop.cancel();
                }
            }
        }
    }

    /// Sets what flags and configuration say.
    async fn configure(
        &self,
        app: &App<'_>,
        queue: &ProjectQueue,
        server: Server,
    ) -> Result<Server, CliError> {
        let mut limits = ServerLimits::default();
        limits.connections = fd_limit::raise_limit(limits.connections);
        let mut server = server
            .with_store_kind(queue.url.split(':').next().unwrap_or_default())
            .with_project(queue.project.id)
            .with_model_calls(Arc::clone(&queue.calls))
            .with_hosts(self.allow_host.clone())
            .with_limits(limits)
            .allow_non_loopback(self.insecure_listen);
        if let Some(files) = tls::files(&queue.config)? {
            server = server.with_tls(files);
        }
        if let Some(telemetry) = app.telemetry(&queue.config)? {
            server = server.with_span_counts(telemetry.counts());
        }
        if self.has_git(queue) {
            let repositories = git::GitRepositories::open(app, queue).await?;
            server = server.with_git(Arc::new(repositories));
        }
        Ok(server)
    }

    fn has_git(&self, queue: &ProjectQueue) -> bool {
        self.git || queue.config.server.git
    }

    /// Opens a store for the current directory, which is not in a repository: agents can be served as models there, but no
    /// task can run.
    async fn open_without_repository(&self, app: &App<'_>) -> Result<ProjectQueue, CliError> {
        let cwd = &app.inputs.cwd;
        app.console.notice(&format!(
            "{} is not inside a git repository: only agents are served, as models; tasks need a repository",
            cwd.display()
        ));
        let root = cwd.canonicalize().map_err(|error| {
            CliError::usage(format!("{} cannot be opened: {error}", cwd.display()))
        })?;
        ProjectQueue::open_at(app, root).await
    }

    fn worker(
        &self,
        app: &App<'_>,
        queue: &ProjectQueue,
        task_runtime: &TaskRuntime,
        agents: AgentCatalog,
    ) -> Result<Option<windlass_runner::Worker>, CliError> {
        if self.no_worker || repository(&queue.project.root).is_err() {
            return Ok(None);
        }
        if let Err(error) = agents.find(None) {
            app.console
                .notice(&format!("tasks that name no agent will fail: {error}"));
        }
        let scope = (&queue.queue, self.worker_args.only(&queue.project));
        let worker = self.worker_args.worker(app, scope, task_runtime, agents)?;
        Ok(Some(worker))
    }

    fn print_ready(
        &self,
        app: &App<'_>,
        url: &str,
        key: &token::ServerToken,
    ) -> Result<(), CliError> {
        app.console
            .line(&format!("ready at {STRONG}{url}{STRONG:#}"))?;
        let is_open = url.starts_with("http://") && !self.listen.ip().is_loopback();
        if is_open {
            app.console.notice("listening on a non-loopback address without encryption; the token can be intercepted");
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

/// Runs the worker until it is stopped. Without a worker, or when it was drained, waits for the stop.
async fn run_worker(
    worker: Option<windlass_runner::Worker>,
    stop: CancellationToken,
) -> Result<WorkerReport, windlass_runner::Error> {
    match worker {
        Some(worker) => {
            let report = worker.run(stop.clone()).await?;
            if report.drained {
                stop.cancelled().await;
            }
            Ok(report)
        }
        None => {
            stop.cancelled().await;
            Ok(WorkerReport::default())
        }
    }
}

fn listen_error(error: ServerError) -> CliError {
    match error {
        ServerError::Store(error) => error.into(),
        ServerError::NotLoopback { .. } => CliError::usage(format!(
            "{error} with --tls-cert and --tls-key, or pass --insecure-listen to allow it"
        )),
        error => CliError::usage(error.to_string()),
    }
}
