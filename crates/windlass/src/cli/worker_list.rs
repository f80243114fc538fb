//! `windlass worker list` and `drain`: the workers of the store.

use clap::{Args, Subcommand};
use windlass_core::escape_line;
use windlass_tasks::{RegisteredWorker, WorkerState};

use super::app::App;
use super::audit;
use super::console::{GOOD, WARNING};
use super::exit::{CliError, Exit};
use super::queue::OpenQueue;
use super::table::{self, Cell};
use super::worker_pause::PauseCommand;

#[derive(Debug, Subcommand)]
pub(super) enum WorkerCommand {
    #[command(flatten)]
    Pause(PauseCommand),
    /// List the workers of the store, on all machines, with their load
    List(List),
    /// Let a worker finish its tasks and then exit; it claims no other
    Drain(Drain),
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Drain {
    /// Name or number of the worker, as listed
    #[arg(value_name = "WORKER", required_unless_present = "all")]
    worker: Option<String>,
    /// Drain all workers of the store
    #[arg(long, conflicts_with = "worker")]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl WorkerCommand {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        match self {
            Self::Pause(command) => command.run(app).await,
            Self::List(list) => list.run(app).await,
            Self::Drain(drain) => drain.run(app).await,
        }
    }
}

impl List {
    async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let workers = OpenQueue::open(app).await?.store.workers().await?;
        if self.json {
            app.console.pretty_json(&workers)?;
        } else if workers.is_empty() {
            app.console
                .line("no workers; start one with: windlass worker")?;
        } else {
            let rows: Vec<[Cell; 8]> = workers.iter().map(row).collect();
            let heading = [
                "id", "worker", "state", "tasks", "labels", "version", "seen", "agents",
            ];
            table::print(app.console, heading, &rows)?;
        }
        Ok(Exit::Done)
    }
}

fn row(worker: &RegisteredWorker) -> [Cell; 8] {
    let state = match worker.state {
        WorkerState::Active => Cell::styled("active", GOOD),
        state => Cell::styled(state.as_str(), WARNING),
    };
    [
        worker.id.to_string().into(),
        worker.name.clone().into(),
        state,
        format!("{} of {}", worker.running, worker.lanes).into(),
        worker.labels.join(" ").into(),
        worker.version.clone().into(),
        format!("{}s ago", worker.seen_seconds_ago).into(),
        worker.agents.join(" ").into(),
    ]
}

impl Drain {
    async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = OpenQueue::open(app).await?;
        let workers = queue.store.workers().await?;
        let chosen: Vec<&RegisteredWorker> = match &self.worker {
            Some(name) => vec![find(&workers, name)?],
            None => workers.iter().collect(),
        };
        let mut drained = Vec::new();
        for worker in chosen {
            let worker = queue.store.drain_worker(worker.id).await?;
            let subject = worker.name.clone();
            audit::record(app, &*queue.access, "worker drain", subject).await?;
            drained.push(worker);
        }
        if self.json {
            app.console.pretty_json(&drained)?;
            return Ok(Exit::Done);
        }
        if drained.is_empty() {
            app.console.line("no workers")?;
        }
        for worker in &drained {
            app.console.line(&describe(worker))?;
        }
        Ok(Exit::Done)
    }
}

/// Says what a drained worker does next.
fn describe(worker: &RegisteredWorker) -> String {
    let name = escape_line(&worker.name);
    match (worker.state, worker.running) {
        (WorkerState::Lost, _) => {
            format!("{name} is lost: if it comes back, it finishes its tasks and exits")
        }
        (_, 0) => format!("{name} drains: it runs nothing and exits within seconds"),
        (_, 1) => format!("{name} drains: it finishes 1 task and exits"),
        (_, count) => format!("{name} drains: it finishes {count} tasks and exits"),
    }
}

/// Returns the worker with this number, or the only one with this name.
fn find<'a>(workers: &'a [RegisteredWorker], name: &str) -> Result<&'a RegisteredWorker, CliError> {
    let by_id = |worker: &&RegisteredWorker| worker.id.to_string() == name;
    if let Some(worker) = workers.iter().find(by_id) {
        return Ok(worker);
    }
    let by_name = workers.iter().filter(|worker| worker.name == name);
    match by_name.collect::<Vec<_>>().as_slice() {
        [] => Err(CliError::usage(format!(
            "there is no worker {name:?}: windlass worker list has their names"
        ))),
        [only] => Ok(only),
        several => {
            let ids: Vec<String> = several.iter().map(|worker| worker.id.to_string()).collect();
            Err(CliError::usage(format!(
                "several workers have the name {name:?}: give one of the numbers {}",
                ids.join(", ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::Timestamp;
    use windlass_tasks::WorkerId;

    use super::*;

    fn worker(id: i64, name: &str) -> RegisteredWorker {
        RegisteredWorker {
            id: WorkerId::from(id),
            name: name.to_owned(),
            machine: "m".to_owned(),
            version: "0.1.0".to_owned(),
            state: WorkerState::Active,
            labels: Vec::new(),
            kinds: Vec::new(),
            agents: Vec::new(),
            project_id: None,
            lanes: 1,
            running: 0,
            started_at: Timestamp(0),
            seen_at: Timestamp(0),
            seen_seconds_ago: 0,
        }
    }

    #[test]
    fn worker_is_found_by_number_or_unique_name() {
        let workers = [worker(1, "a"), worker(2, "b"), worker(3, "b")];
        assert_eq!(find(&workers, "a").unwrap().id.get(), 1);
        assert_eq!(find(&workers, "3").unwrap().id.get(), 3);
        let several = find(&workers, "b").unwrap_err().to_string();
        assert!(several.contains("numbers 2, 3"), "{several}");
        let none = find(&workers, "c").unwrap_err().to_string();
        assert!(none.contains("windlass worker list"), "{none}");
    }
}
