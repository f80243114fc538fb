//! The commands of a chat.

use windlass_core::{Clock, SystemClock};
use windlass_tasks::NewTask;
use windlass_workspace::{DirSnapshots, Restored};

use super::command::{COMMANDS, DiffRange};
use super::conversation::{ChatContext, ChatConversation};
use super::diff_view;
use super::recap;
use super::records::{ChatRecord, age};
use crate::cli::app::App;
use crate::cli::console::{Console, GOOD, QUIET};
use crate::cli::exit::{CliError, Exit};
use crate::cli::queue::ProjectQueue;
use crate::cli::table::{self, Cell};

/// Maximum number of lines of a diff.
const MAX_DIFF_LINES: usize = 2000;
/// Maximum number of conversations in a list.
pub(super) const MAX_LISTED: usize = 20;

/// Prints the commands.
pub(super) fn help(context: &ChatContext<'_>) -> Result<(), CliError> {
    for (name, argument, text) in COMMANDS {
        let command = format!("{name} {argument}");
        context.console.line(&format!("  {command:<14} {text}"))?;
    }
    context.console.line(
        "A line that ends with \\ continues. // at the start sends a prompt that starts with /.",
    )?;
    context
        .console
        .line("Ctrl-C stops the agent, Ctrl-D leaves, Tab completes, ↑ shows earlier prompts.")?;
    Ok(())
}

/// Shows the agents, or continues with another one.
pub(super) async fn agent(
    context: &ChatContext<'_>,
    conversation: &mut ChatConversation,
    name: Option<&str>,
    known: &[String],
) -> Result<(), CliError> {
    let Some(name) = name else {
        for other in known {
            let mark = if *other == conversation.agent.name {
                "*"
            } else {
                " "
            };
            let other = windlass_core::escape_line(other);
            context.console.line(&format!("{mark} {other}"))?;
        }
        return Ok(());
    };
    let agent = context.agents.find(Some(name))?;
    conversation.change_agent(context, agent).await?;
    let mut line = format!("the agent is now {name}");
    if !conversation.record.turns.is_empty() {
        line.push_str(": it gets the conversation with the next prompt");
    }
    context.console.progress(GOOD, &line);
    Ok(())
}

/// Shows the model, or continues with another one.
pub(super) async fn model(
    context: &ChatContext<'_>,
    conversation: &mut ChatConversation,
    name: Option<String>,
) -> Result<(), CliError> {
    let Some(name) = name else {
        let model = conversation.agent.model.as_deref();
        let model = model.unwrap_or("the agent's default");
        let model = windlass_core::escape_line(model);
        context.console.line(&model)?;
        return Ok(());
    };
    if !conversation.handle.capabilities().model_choice {
        return Err(CliError::usage(format!(
            "{} has no choice of models: set its model in windlass.toml, or use /agent",
            conversation.agent.name
        )));
    }
    let line = format!("the model is now {name}");
    conversation.change_model(name).await;
    context.console.progress(GOOD, &line);
    Ok(())
}

fn snapshots<'a>(context: &'a ChatContext<'_>) -> Result<&'a DirSnapshots, CliError> {
    let snapshots = context.snapshots.as_ref();
    snapshots.map_err(|reason| {
        CliError::failed(format!(
            "there is no /diff and no /undo here, because the files before a turn are not stored: {reason}"
        ))
    })
}

/// Shows what changed.
pub(super) async fn diff(
    context: &ChatContext<'_>,
    conversation: &ChatConversation,
    range: DiffRange,
) -> Result<(), CliError> {
    let snapshots = snapshots(context)?;
    let record = &conversation.record;
    let trees = match range {
        DiffRange::LastTurn => last_change(record).map(|turn| record.turns[turn].trees.clone()),
        DiffRange::Conversation => match &record.start_tree {
            None => None,
            Some(start) => {
                let now = snapshots.take().await.map_err(windlass_core::Error::from)?;
                Some(Some((start.clone(), now.tree)))
            }
        },
    };
    let diff = match trees.flatten() {
        Some((old, new)) => snapshots
            .diff(&old, &new)
            .await
            .map_err(windlass_core::Error::from)?,
        None => String::new(),
    };
    if diff.is_empty() {
        let what = match range {
            DiffRange::LastTurn => "no turn of this conversation changed files",
            DiffRange::Conversation => "no files changed since this conversation began",
        };
        context.console.progress(QUIET, what);
        return Ok(());
    }
    for line in diff_view::unified_lines(&diff, MAX_DIFF_LINES) {
        context.console.line(&line)?;
    }
    Ok(())
}

/// Returns the last turn that changed files and was not undone.
fn last_change(record: &ChatRecord) -> Option<usize> {
    let mut turns = record.turns.iter();
    turns.rposition(|turn| turn.trees.is_some() && !turn.undone)
}

/// Restores the files as before the last turn that changed files.
pub(super) async fn undo(
    context: &ChatContext<'_>,
    conversation: &mut ChatConversation,
) -> Result<(), CliError> {
    let snapshots = snapshots(context)?;
    let last = last_change(&conversation.record);
    let trees = last.and_then(|turn| {
        let trees = conversation.record.turns[turn].trees.clone();
        Some((turn, trees?))
    });
    let Some((turn, (before, after))) = trees else {
        return Err(CliError::usage(
            "nothing to undo: no turn of this conversation changed files; changes of files that git ignores are not seen",
        ));
    };
    let restored = snapshots.restore(&before, &after).await;
    match restored.map_err(windlass_core::Error::from)? {
        Restored::Files(files) => {
            conversation.record.turns[turn].undone = true;
            context.store.write(&conversation.record)?;
            let list = files.join(", ");
            conversation.add_note(format!(
                "The user undid your last changes of files: {list}. The files are as they were before."
            ));
            let line = format!("restored {}: {list}", count(files.len()));
            context.console.progress(GOOD, &line);
            Ok(())
        }
        Restored::ChangedSince(files) => Err(CliError::usage(format!(
            "nothing was undone, because these files were changed again since: {}; /diff last shows the agent's change",
            files.join(", ")
        ))),
        _ => Ok(()),
    }
}

/// Adds a task to the queue, with the conversation as its description.
pub(super) async fn task(
    app: &App<'_>,
    context: &ChatContext<'_>,
    conversation: &ChatConversation,
    text: &str,
) -> Result<(), CliError> {
    let record = &conversation.record;
    let last = record.turns.last().map(|turn| turn.prompt.as_str());
    let text = if text.is_empty() {
        last.ok_or_else(|| {
            CliError::usage("/task needs a text, or a conversation: /task Add a test for it")
        })?
    } else {
        text
    };
    let (title, rest) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
    let mut description = rest.trim().to_owned();
    let conversation_text = recap::transcript(&record.turns);
    if !conversation_text.is_empty() {
        description.push_str(&format!(
            "\n\nThe conversation before this task:\n\n{}",
            conversation_text.trim_end()
        ));
    }
    let queue = ProjectQueue::open(app).await?;
    let masker = conversation.handle.masker();
    let task = NewTask {
        description: masker.text(description.trim()).into_owned(),
        agent: Some(conversation.agent.name.clone()),
        ..NewTask::new(queue.project.id, masker.text(title.trim()).into_owned())
    };
    let added = queue.store.enqueue(vec![task]).await?;
    let Some(added) = added.into_iter().next() else {
        return Err(CliError::failed(
            "internal error: the store returned no task id",
        ));
    };
    let id = added.task.id;
    let line =
        format!("added task {id}: windlass worker runs it, windlass task show {id} shows it");
    context.console.progress(GOOD, &line);
    if last_change(record).is_some() {
        context.console.notice(
            "the task starts from the last commit, without what this conversation changed: commit it first if the task needs it",
        );
    }
    Ok(())
}

/// Returns the rows of a list of conversations.
pub(super) fn rows(records: &[ChatRecord]) -> Vec<[String; 4]> {
    let now = SystemClock::new().now();
    let row = |record: &ChatRecord| {
        let title: String = record.title.chars().take(60).collect();
        [
            record.id.clone(),
            age(record.updated_at, now),
            record.agent.clone(),
            title,
        ]
    };
    records.iter().map(row).collect()
}

/// Formats a number of files.
pub(super) fn count(files: usize) -> String {
    match files {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    }
}

/// Returns the error that there is nothing to resume.
pub(super) fn none_stored() -> CliError {
    CliError::usage("no conversation in this directory is stored: start one with windlass chat")
}

/// Prints the conversations of a directory.
pub(super) fn list(
    console: &Console,
    records: &[ChatRecord],
    is_json: bool,
) -> Result<Exit, CliError> {
    if is_json {
        console.pretty_json(&records)?;
    } else if records.is_empty() {
        console.line("no conversations in this directory; start one with: windlass chat")?;
    } else {
        let records = &records[..records.len().min(MAX_LISTED)];
        let rows: Vec<[Cell; 4]> = rows(records)
            .into_iter()
            .map(|row| row.map(Cell::from))
            .collect();
        table::print(console, ["id", "last used", "agent", "title"], &rows)?;
    }
    Ok(Exit::Done)
}
