//! `windlass approvals` and `windlass decide`: what agents at work ask before they act.

use std::collections::HashMap;

use clap::Args;
use windlass_core::task::{Approval, RecordId, TaskId};
use windlass_core::{PermissionKind, PermissionOption, escape_control, escape_line};

use super::app::App;
use super::console::{QUIET, STRONG};
use super::exit::{CliError, Exit};
use super::queue::TaskQueue;

/// How much of what a tool would be given is shown; the rest is in the JSON.
const SHOWN_LINES: usize = 40;

#[derive(Debug, Args)]
pub(super) struct Approvals {
    /// The decided and the withdrawn ones too
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Decide {
    /// The request's number, as `windlass approvals` shows it
    id: RecordId,
    /// The option: its number there, or its id where that is no number
    option: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Approvals {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = TaskQueue::open(app).await?;
        let found = of_project(&queue, queue.store.approvals(!self.all).await?).await?;
        if self.json {
            app.console.pretty_json(&found)?;
        } else if found.is_empty() {
            app.console.line("no permission requests")?;
        } else {
            for approval in &found {
                show(app, approval)?;
            }
        }
        Ok(Exit::Done)
    }
}

impl Decide {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let store = TaskQueue::open(app).await?.store;
        let asked = store.approval(self.id).await?.asked;
        let option = self.selected_option(&asked.options)?;
        let decided = store
            .decide_approval(self.id, Some(option.id.clone()))
            .await?;
        let held = decided.decision.as_ref();
        let held = held.and_then(|held| held.option.as_deref());
        if held != Some(&option.id) {
            return Err(CliError::usage(match held {
                Some(other) => {
                    format!("permission request {} was decided before: {other}", self.id)
                }
                None => format!(
                    "permission request {} was withdrawn: its turn has ended",
                    self.id
                ),
            }));
        }
        if self.json {
            app.console.pretty_json(&decided)?;
        } else {
            let (label, task) = (escape_line(&option.label), asked.attempt.task);
            app.console.line(&format!("{label}: task {task} goes on"))?;
        }
        Ok(Exit::Done)
    }

    /// The option that is meant. A number is always a place in the list, so that what is seen is what is chosen.
    fn selected_option<'a>(
        &self,
        options: &'a [PermissionOption],
    ) -> Result<&'a PermissionOption, CliError> {
        let found = match self.option.parse::<usize>() {
            Ok(place) => place.checked_sub(1).and_then(|place| options.get(place)),
            Err(_) => options.iter().find(|option| option.id == self.option),
        };
        found.ok_or_else(|| {
            CliError::usage(format!(
                "permission request {} does not offer {:?}: windlass approvals shows what it does",
                self.id, self.option
            ))
        })
    }
}

/// Those that belong to tasks of this project.
async fn of_project(queue: &TaskQueue, all: Vec<Approval>) -> Result<Vec<Approval>, CliError> {
    let mut ours: HashMap<TaskId, bool> = HashMap::new();
    let mut found = Vec::new();
    for approval in all {
        let id = approval.asked.attempt.task;
        let is_ours = match ours.get(&id) {
            Some(known) => *known,
            None => queue.store.task(id).await?.project_id == queue.project.id,
        };
        ours.insert(id, is_ours);
        if is_ours {
            found.push(approval);
        }
    }
    Ok(found)
}

fn show(app: &App<'_>, approval: &Approval) -> Result<(), CliError> {
    let asked = &approval.asked;
    app.console.line(&format!(
        "{STRONG}permission request {} (task {}, attempt {}){STRONG:#}",
        approval.id, asked.attempt.task, asked.attempt.number
    ))?;
    let (agent, tool) = (escape_line(&asked.agent), escape_line(&asked.tool));
    app.console
        .line(&format!("{agent} asks whether it may: {tool}"))?;
    let input = serde_json::to_string_pretty(&asked.input).unwrap_or_default();
    for line in input.lines().take(SHOWN_LINES) {
        app.console.line(&format!("  {}", escape_control(line)))?;
    }
    if let more @ 1.. = input.lines().count().saturating_sub(SHOWN_LINES) {
        let line = format!("  {QUIET}… {more} more lines: windlass approvals --json{QUIET:#}");
        app.console.line(&line)?;
    }
    if let Some(decision) = &approval.decision {
        let words = match &decision.option {
            Some(option) => format!("decided: {}", escape_line(option)),
            None => "withdrawn: its turn ended first".to_owned(),
        };
        return Ok(app.console.line(&words)?);
    }
    for (place, option) in asked.options.iter().enumerate() {
        // The words are the agent's; what they mean is not.
        let words = escape_line(&option.label);
        let (id, place, meaning) = (approval.id, place + 1, meaning(option.kind));
        app.console.line(&format!(
            "{QUIET}windlass decide {id} {place}{QUIET:#}  {meaning}: {words}"
        ))?;
    }
    Ok(())
}

/// What choosing an option of this kind comes to, whatever the agent calls it.
fn meaning(kind: PermissionKind) -> &'static str {
    match kind {
        PermissionKind::AllowOnce => "yes, once",
        PermissionKind::AllowAlways => "yes, from now on",
        PermissionKind::RejectOnce => "no",
        PermissionKind::RejectAlways => "no, from now on",
        _ => "other",
    }
}
