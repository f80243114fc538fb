//! `windlass schedule`: tasks that are added repeatedly.

use clap::{Args, Subcommand};
use windlass_core::{Clock, SystemClock, Timestamp, escape_line};
use windlass_runner::{Cron, zone_name};
use windlass_tasks::{NewSchedule, NewTask, Schedule, ScheduleId, TaskStore};

use super::app::App;
use super::exit::{CliError, Exit};
use super::queue::ProjectQueue;
use super::table::{self, Cell};

#[derive(Debug, Args)]
pub(super) struct SchedulesCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the schedules of this project; add one with: windlass task add TITLE --cron EXPRESSION
    List {
        /// List the schedules of all projects in the store
        #[arg(long)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Pause a schedule: it adds no task until it is resumed
    Pause(ScheduleArgs),
    /// Resume a schedule; times that it missed are not made up for
    Resume(ScheduleArgs),
    /// Remove a schedule; the tasks that it added stay
    Remove(ScheduleArgs),
}

#[derive(Debug, Args)]
struct ScheduleArgs {
    /// Schedule number
    id: ScheduleId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl SchedulesCommand {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let store = &queue.store;
        let (schedule, json, what) = match self.command {
            Command::List { all, json } => {
                let project = (!all).then_some(queue.project.id);
                return list(app, &store.schedules(project).await?, json);
            }
            Command::Pause(ScheduleArgs { id, json }) => {
                (store.pause_schedule(id).await?, json, "paused")
            }
            Command::Resume(ScheduleArgs { id, json }) => {
                let all = store.schedules(None).await?;
                let found = all.into_iter().find(|schedule| schedule.id == id);
                let Some(found) = found else {
                    return Err(CliError::usage(format!("there is no schedule {id}")));
                };
                let next = next(&found.cron, &found.zone)?;
                (store.resume_schedule(id, next).await?, json, "resumed")
            }
            Command::Remove(ScheduleArgs { id, json }) => {
                (store.remove_schedule(id).await?, json, "removed")
            }
        };
        if json {
            app.console.pretty_json(&schedule)?;
        } else {
            let title = escape_line(&schedule.task.title);
            app.console
                .line(&format!("schedule {} {what}: {title}", schedule.id))?;
        }
        Ok(Exit::Done)
    }
}

/// Adds a schedule in this machine's time zone, and prints when it is due.
pub(super) async fn add(
    app: &App<'_>,
    store: &dyn TaskStore,
    cron: String,
    task: NewTask,
    json: bool,
) -> Result<Exit, CliError> {
    let zone = zone_name();
    let next_at = next(&cron, &zone)?;
    let new = NewSchedule {
        cron,
        zone,
        task,
        next_at,
    };
    let added = store.add_schedule(new).await?;
    if json {
        app.console.pretty_json(&added)?;
        return Ok(Exit::Done);
    }
    app.console.line(&format!(
        "schedule {} added: {}",
        added.id,
        escape_line(&added.task.title)
    ))?;
    app.console.line(&format!(
        "next run: {}, if a worker runs then",
        local_time(added.next_at, &added.zone)
    ))?;
    Ok(Exit::Done)
}

fn next(cron: &str, zone: &str) -> Result<Timestamp, CliError> {
    let parsed: Result<Cron, _> = cron.parse();
    let next = parsed.and_then(|cron| cron.next(SystemClock::new().now(), zone));
    next.map_err(|error| CliError::usage(error.to_string()))
}

fn list(app: &App<'_>, schedules: &[Schedule], json: bool) -> Result<Exit, CliError> {
    if json {
        app.console.pretty_json(&schedules)?;
        return Ok(Exit::Done);
    }
    if schedules.is_empty() {
        app.console
            .line("no schedules; add one with: windlass task add TITLE --cron \"0 3 * * 1\"")?;
        return Ok(Exit::Done);
    }
    let rows = schedules.iter().map(row);
    let rows: Vec<[Cell; 5]> = rows.map(|row| row.map(Cell::from)).collect();
    let heading = ["schedule", "cron", "next", "last task", "title"];
    table::print(app.console, heading, &rows)?;
    Ok(Exit::Done)
}

fn row(schedule: &Schedule) -> [String; 5] {
    let next = if schedule.paused {
        "paused".to_owned()
    } else {
        local_time(schedule.next_at, &schedule.zone)
    };
    [
        schedule.id.to_string(),
        schedule.cron.clone(),
        next,
        schedule
            .last_task
            .map(|id| id.to_string())
            .unwrap_or_default(),
        schedule.task.title.clone(),
    ]
}

/// Formats a time in a time zone, with its name.
fn local_time(at: Timestamp, zone: &str) -> String {
    windlass_runner::local_time(at, zone).unwrap_or_else(|| format!("{at} ms"))
}
