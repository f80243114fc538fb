//! `windlass task log`: prints the event log of a task.

use std::time::Duration;

use clap::Args;
use windlass_core::escape_line;
use windlass_server::event_line;
use windlass_tasks::{EventFilter, TaskId};

use super::super::app::App;
use super::super::exit::{CliError, Exit};
use super::super::interrupt::Interrupts;
use super::super::queue::ProjectQueue;

#[derive(Debug, Args)]
pub(super) struct Log {
    /// Task number
    id: TaskId,
    /// Print only events after this sequence number
    #[arg(long, value_name = "N", default_value_t = 0)]
    after: u64,
    /// Follow the log until the task ends
    #[arg(short, long)]
    follow: bool,
    /// Print each event as a line of JSON
    #[arg(long)]
    json: bool,
}

impl Log {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let store = ProjectQueue::open(app).await?.queue.store;
        let mut interrupts = Interrupts::listen()?;
        let mut filter = EventFilter {
            task_id: Some(self.id),
            after: self.after,
            ..EventFilter::default()
        };
        loop {
            // Read the status before the events, so that no event before the final status is missed.
            let is_final = store.task(self.id).await?.status.is_final();
            let events = store.events(filter.clone()).await?;
            for event in &events {
                filter.after = event.seq;
                if self.json {
                    app.console.json(event)?;
                } else if let Some(line) = event_line(&event.message) {
                    app.console
                        .line(&format!("{:>6}  {}", event.seq, escape_line(&line)))?;
                }
            }
            if !events.is_empty() {
                continue;
            }
            if is_final || !self.follow {
                return Ok(Exit::Done);
            }
            tokio::select! {
                changed = store.wait_for_events(filter.after, Duration::from_secs(5)) => changed.map(drop)?,
                () = interrupts.next() => return Ok(Exit::Interrupted),
            }
        }
    }
}
