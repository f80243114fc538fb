//! `windlass serve`: API, WebSocket and dashboard, with workers beside them.

mod desk;
mod files;
mod models;
mod rooms;
mod token;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use tokio_util::sync::CancellationToken;
use windlass_core::ExposeSecret;
use windlass_runner::Report;
use windlass_server::{Limits, Server, ServerError, Token};

use super::app::App;
use super::console::{QUIET, STRONG};
use super::crew::{Crew, test_settings};
use super::exit::{Exit, Failure};
use super::interrupt::Interrupts;
use super::queue::{Queue, repository};
use super::worker::Hands;
use crate::roster::Roster;
use desk::LocalDesk;

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
    hands: Hands,
}

impl Serve {
    /// Serves until it is asked to stop: once gently, twice at once.
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, Failure> {
        repository(&app.inputs.cwd).map_err(|_| homeless(&app.inputs.cwd))?;
        let queue = Queue::open(app).await?;
        let crew = Crew::gather(app, &queue.config, test_settings(&queue.config)).await?;
        let roster = self.hands.roster(app, &queue);
        let worker = self.worker(app, &queue, &crew, roster.clone());
        let key = token::obtain(&app.inputs, self.new_token)?;
        // Kept to the end: what requests have there goes with it.
        let rooms = models::rooms(app)?;
        let mut limits = Limits::default();
        limits.connections = files::connections(limits.connections);
        let desk = LocalDesk::new(app, &queue, &crew);
        let url = queue.config.store_url().unwrap_or_default();
        let mut server = Server::new(
            Arc::clone(&queue.store),
            Arc::new(desk),
            Token::new(&key.token),
        )
        .with_store_kind(url.split(':').next().unwrap_or_default())
        .with_project(queue.project.id)
        .with_front(models::front(&queue, &rooms, roster))
        .with_hosts(self.allow_host.clone())
        .with_limits(limits)
        .anywhere(self.insecure_listen);
        if let Some(worker) = &worker {
            server = server.with_worker(worker.pool.clone());
        }
        let mut interrupts = Interrupts::listen()?;
        let running = server.listen(self.listen).await.map_err(refused)?;
        self.say(app, &running.url(), &key)?;

        let stop = CancellationToken::new();
        let work = work(worker, stop.clone());
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
        queue: &Queue,
        crew: &Crew,
        roster: Roster,
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

    fn say(&self, app: &App<'_>, url: &str, key: &token::Key) -> Result<(), Failure> {
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
async fn work(
    worker: Option<windlass_runner::Worker>,
    stop: CancellationToken,
) -> Result<Report, windlass_runner::Error> {
    match worker {
        Some(worker) => worker.run(stop).await,
        None => {
            stop.cancelled().await;
            Ok(Report::default())
        }
    }
}

/// What somebody is told who serves from a folder without a repository.
fn homeless(cwd: &Path) -> Failure {
    Failure::usage(format!(
        "{} is not inside a git repository, and a server keeps tasks and traces with one: start it in the repository that \
         it is for; for agents as models alone an empty one will do (git init)",
        cwd.display()
    ))
}

fn refused(error: ServerError) -> Failure {
    match error {
        ServerError::Store(error) => error.into(),
        ServerError::NotLoopback { .. } => Failure::usage(format!(
            "{error}, or say --insecure-listen if that is what you want"
        )),
        error => Failure::usage(error.to_string()),
    }
}
