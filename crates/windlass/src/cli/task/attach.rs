//! `windlass task attach`: follows a running task, and sends its agent messages.

use std::time::Duration;

use clap::Args;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use windlass_core::escape_line;
use windlass_server::event_line;
use windlass_tasks::{EventFilter, MAX_MESSAGE_BYTES, TaskId, TaskStatus, TaskStore};

use super::super::app::App;
use super::super::console::QUIET;
use super::super::exit::{CliError, Exit};
use super::super::interrupt::Interrupts;
use super::super::queue::ProjectQueue;
use super::landed::person;

#[derive(Debug, Args)]
#[command(
    after_help = "Each line that you type is sent to the agent, which receives it when its current turn ends."
)]
pub(super) struct Attach {
    /// Task number
    id: TaskId,
    /// Send this message and exit
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Print each event as a line of JSON
    #[arg(long)]
    json: bool,
}

impl Attach {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let store = ProjectQueue::open(app).await?.queue.store;
        if let Some(text) = &self.message {
            return self.send(app, &*store, text).await;
        }
        let mut interrupts = Interrupts::listen()?;
        let mut lines = BufReader::new(tokio::io::stdin());
        let mut has_input = true;
        // What was typed of the next line, if an event comes first.
        let mut typed = Vec::new();
        let mut filter = EventFilter {
            task_id: Some(self.id),
            ..EventFilter::default()
        };
        loop {
            // Read the status before the events, so that no event before the final status is missed.
            let is_final = store.task(self.id).await?.status.is_final();
            if self.print_new(app, &*store, &mut filter).await? {
                continue;
            }
            if is_final {
                return Ok(Exit::Done);
            }
            tokio::select! {
                changed = store.wait_for_events(filter.after, Duration::from_secs(5)) => changed.map(drop)?,
                () = interrupts.next() => return Ok(Exit::Interrupted),
                more = read_line(&mut lines, &mut typed), if has_input => {
                    has_input = more?;
                    let line = String::from_utf8_lossy(&std::mem::take(&mut typed)).into_owned();
                    if !line.trim().is_empty() {
                        self.send(app, &*store, line.trim()).await?;
                    }
                }
            }
        }
    }

    /// Prints the next events. Returns `false` if no event is left.
    async fn print_new(
        &self,
        app: &App<'_>,
        store: &dyn TaskStore,
        filter: &mut EventFilter,
    ) -> Result<bool, CliError> {
        let events = store.events(filter.clone()).await?;
        for event in &events {
            filter.after = event.seq;
            if self.json {
                app.console.json(event)?;
            } else if let Some(line) = event_line(&event.message) {
                app.console.line(&escape_line(&line))?;
            }
        }
        Ok(!events.is_empty())
    }

    async fn send(
        &self,
        app: &App<'_>,
        store: &dyn TaskStore,
        text: &str,
    ) -> Result<Exit, CliError> {
        let task = store.task(self.id).await?;
        if task.status.is_final() {
            return Err(CliError::usage(format!(
                "task {} is {}: its agent receives no message; retry it first",
                task.id, task.status
            )));
        }
        let sent = store.send_message(self.id, person(app).await, text.to_owned());
        let sent = sent.await?;
        if self.json {
            app.console.json(&sent)?;
        } else {
            let line = match task.status {
                TaskStatus::InProgress => {
                    "sent: the agent receives it when its current turn ends, in the same session"
                }
                TaskStatus::Blocked => {
                    "sent: the agent receives it with its next attempt, after the question is answered"
                }
                _ => "sent: the agent receives it with the first prompt of its next attempt",
            };
            app.console.progress(QUIET, line);
        }
        Ok(Exit::Done)
    }
}

/// Reads the rest of a line. Returns `false` at the end of the input.
async fn read_line(
    input: &mut BufReader<tokio::io::Stdin>,
    line: &mut Vec<u8>,
) -> Result<bool, CliError> {
    let limit = u64::try_from(MAX_MESSAGE_BYTES).unwrap_or(u64::MAX) + 1;
    Ok(input.take(limit).read_until(b'\n', line).await? > 0)
}
