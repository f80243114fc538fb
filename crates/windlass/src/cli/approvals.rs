//! `windlass approvals` and `windlass decide`: permission requests of running agents.

use std::collections::HashMap;

use clap::Args;
use serde_json::{Value, json};
use windlass_core::{PermissionKind, PermissionOption, escape_control, escape_line};
use windlass_tasks::{Approval, ApprovalId, TaskId};

use super::app::App;
use super::console::{QUIET, STRONG};
use super::exit::{CliError, Exit};
use super::queue::ProjectQueue;

/// Maximum number of lines shown of a tool's input; the JSON has all of it.
const SHOWN_LINES: usize = 40;

#[derive(Debug, Args)]
pub(super) struct Approvals {
    /// Include decided and withdrawn requests
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Decide {
    /// Number of the request, as printed by `windlass approvals`
    id: ApprovalId,
    /// Option to choose: its number in that list, or its id if the id is not a number
    option: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Approvals {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let found = in_project(&queue, queue.store.approvals(!self.all).await?).await?;
        if self.json {
            app.console
                .pretty_json(&found.iter().map(to_json).collect::<Vec<_>>())?;
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
        let store = ProjectQueue::open(app).await?.queue.store;
        let request = store.approval(self.id).await?.request;
        let option = self.selected_option(&request.options)?;
        let decided = store
            .decide_approval(self.id, Some(option.id.clone()))
            .await?;
        if let Some(why) = decided.rejection(&option.id) {
            return Err(CliError::usage(why));
        }
        if self.json {
            app.console.pretty_json(&to_json(&decided))?;
        } else {
            let (label, task) = (escape_line(&option.label), request.attempt.task);
            app.console.line(&format!("{label}: task {task} resumed"))?;
        }
        Ok(Exit::Done)
    }

    /// Returns the chosen option. A number is always a position in the list, so that the option shown under that
    /// number is the one chosen.
    fn selected_option<'a>(
        &self,
        options: &'a [PermissionOption],
    ) -> Result<&'a PermissionOption, CliError> {
        let found = match self.option.parse::<usize>() {
            Ok(number) => number.checked_sub(1).and_then(|index| options.get(index)),
            Err(_) => options.iter().find(|option| option.id == self.option),
        };
        found.ok_or_else(|| {
            CliError::usage(format!(
                "permission request {} does not offer {:?}: run windlass approvals for its options",
                self.id, self.option
            ))
        })
    }
}

/// Returns the request as JSON. It names its task in the same way as a question does.
fn to_json(approval: &Approval) -> Value {
    let mut value = serde_json::to_value(approval).unwrap_or_default();
    value["task_id"] = json!(approval.request.attempt.task);
    value
}

/// Keeps only the requests of tasks of this project.
async fn in_project(queue: &ProjectQueue, all: Vec<Approval>) -> Result<Vec<Approval>, CliError> {
    let mut ours: HashMap<TaskId, bool> = HashMap::new();
    let mut found = Vec::new();
    for approval in all {
        let id = approval.request.attempt.task;
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
    let request = &approval.request;
    app.console.line(&format!(
        "{STRONG}permission request {} (task {}, attempt {}){STRONG:#}",
        approval.id, request.attempt.task, request.attempt.number
    ))?;
    let (agent, tool) = (escape_line(&request.agent), escape_line(&request.tool));
    app.console
        .line(&format!("{agent} requests permission: {tool}"))?;
    let input = serde_json::to_string_pretty(&request.input).unwrap_or_default();
    for line in input.lines().take(SHOWN_LINES) {
        app.console.line(&format!("  {}", escape_control(line)))?;
    }
    if let more @ 1.. = input.lines().count().saturating_sub(SHOWN_LINES) {
        let line = format!("  {QUIET}… {more} more lines: windlass approvals --json{QUIET:#}");
        app.console.line(&line)?;
    }
    if let Some(decision) = &approval.decision {
        let line = match &decision.option {
            Some(option) => format!("decided: {}", escape_line(option)),
            None => "withdrawn: its turn ended first".to_owned(),
        };
        return Ok(app.console.line(&line)?);
    }
    for (index, option) in request.options.iter().enumerate() {
        // The label is the agent's own text; the meaning is not.
        let label = escape_line(&option.label);
        let (id, number, meaning) = (approval.id, index + 1, meaning(option.kind));
        app.console.line(&format!(
            "{QUIET}windlass decide {id} {number}{QUIET:#}  {meaning}: {label}"
        ))?;
    }
    Ok(())
}

/// Describes an option of this kind, independent of the agent's label.
fn meaning(kind: PermissionKind) -> &'static str {
    match kind {
        PermissionKind::AllowOnce => "yes, once",
        PermissionKind::AllowAlways => "yes, from now on",
        PermissionKind::RejectOnce => "no",
        PermissionKind::RejectAlways => "no, from now on",
        _ => "other",
    }
}
