//! `windlass task log`: prints the event log of a task.

use std::time::Duration;

use clap::Args;
use serde_json::Value;
use windlass_core::{AgentEvent, escape_line};
use windlass_tasks::{Broadcast, EventFilter, TaskId};

use super::super::app::App;
use super::super::exit::{CliError, Exit};
use super::super::interrupt::Interrupts;
use super::super::queue::TaskQueue;
use super::super::turn_printer::brief;

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
        let store = TaskQueue::open(app).await?.store;
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
                } else if let Some(line) = line(&event.message) {
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

/// Formats a message as a line; returns `None` for messages that are not shown, such as text chunks.
pub(in super::super) fn line(message: &Broadcast) -> Option<String> {
    Some(match message {
        Broadcast::TaskStatus { status, .. } => format!("is {status}"),
        Broadcast::TestResult {
            status,
            passed,
            failed,
            errors,
            duration,
            ..
        } => format!(
            "tests {}: {passed} passed, {failed} failed, {errors} errors in {duration:.1} s",
            status.as_str()
        ),
        Broadcast::CorrectionAttempt {
            attempt_num,
            max_attempts,
            status,
            error_summary,
            ..
        } => {
            let why = error_summary.as_deref().map(first_line);
            let why = why.map(|why| format!(", {why}")).unwrap_or_default();
            format!("correction {attempt_num} of {max_attempts}: {status}{why}")
        }
        Broadcast::ActivityUpdate { message, .. } => first_line(message).to_owned(),
        Broadcast::AgentEvent { envelope, .. } => return event(&envelope.event),
        _ => return None,
    })
}

fn event(event: &AgentEvent) -> Option<String> {
    Some(match event {
        AgentEvent::ToolStart { name, input, .. } => format!("→ {name} {}", about(input)),
        AgentEvent::ToolEnd {
            name,
            output,
            success,
            duration_ms,
            ..
        } => {
            let duration = format_duration(*duration_ms);
            if *success {
                format!("✓ {name}, {duration}")
            } else {
                format!("✗ {name}, {duration}: {}", brief(output))
            }
        }
        AgentEvent::Result { text, .. } => format!("“{}”", first_line(text)),
        AgentEvent::Error { code, message, .. } => format!("{code}: {}", first_line(message)),
        AgentEvent::SessionInvalid { reason } => first_line(reason).to_owned(),
        AgentEvent::PermissionRequest { tool, input, .. } => {
            format!("requests permission: {tool} {}", brief(input))
        }
        _ => return None,
    })
}

fn format_duration(milliseconds: u64) -> String {
    match milliseconds {
        short @ 0..1000 => format!("{short} ms"),
        long => format!("{:.1} s", Duration::from_millis(long).as_secs_f64()),
    }
}

/// Summarizes a tool's input: the file, relative to the project, or the command.
fn about(input: &Value) -> String {
    let text = |keys: &[&str]| keys.iter().find_map(|key| input.pointer(key)?.as_str());
    let path = text(&["/path", "/file_path", "/filePath", "/changes/0/path"]);
    let Some(path) = path else {
        let command = text(&["/cmd", "/command"]).map(Value::from);
        return brief(command.as_ref().unwrap_or(input));
    };
    // For a file in an attempt's clone, show only the path inside the clone.
    let inner = path
        .split_once("-attempt-")
        .and_then(|(_, rest)| rest.splitn(3, '/').nth(2));
    inner.unwrap_or(path).to_owned()
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}
