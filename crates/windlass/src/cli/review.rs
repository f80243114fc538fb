//! `windlass review`: comments on the change of a task, requests changes or approves it.

mod agent;
mod draft;
mod sheet;

use clap::Args;
use serde_json::json;
use windlass_core::{escape_control, escape_line};
use windlass_tasks::{
    AttemptNumber, AttemptStatus, AuthorKind, DiffLines, DiffSide, MAX_REVIEW_AUTHOR_BYTES,
    NewReview, Review, ReviewComment, ReviewDecision, Task, TaskId, TaskStore,
};

use super::app::App;
use super::console::{QUIET, STRONG};
use super::exit::{CliError, Exit};
use super::queue::ProjectQueue;
use super::task;
use super::task_runtime::{TaskRuntime, test_settings};
pub(super) use agent::ReviewingAgent;
use agent::review_with_agent;
use draft::ReviewDraft;
use sheet::Sheet;

#[derive(Debug, Args)]
pub(super) struct ReviewCommand {
    /// Task number
    id: TaskId,
    /// Approve the change
    #[arg(long, conflicts_with_all = ["request_changes", "reviewer", "show"])]
    approve: bool,
    /// Send the change back: the next attempt starts with it and with the comments
    #[arg(long, conflicts_with_all = ["reviewer", "show"])]
    request_changes: bool,
    /// Comment on the whole change
    #[arg(short, long, value_name = "TEXT", conflicts_with_all = ["reviewer", "show"])]
    message: Option<String>,
    /// Comment on a line of the diff, or on a file; PATH:-LINE is a line that the change removes
    #[arg(long = "comment", value_name = "PATH[:LINE]=TEXT", conflicts_with_all = ["reviewer", "show"])]
    comments: Vec<String>,
    /// Land the change once it is approved: a worker does, or windlass land
    #[arg(long, conflicts_with_all = ["request_changes", "reviewer", "show"])]
    land: bool,
    /// Version that you reviewed: the number of its attempt. A newer one is refused (default: the newest)
    #[arg(long, value_name = "NUMBER")]
    attempt: Option<AttemptNumber>,
    /// Let an agent read the change; it comments or requests changes, and never approves
    #[arg(long, value_name = "AGENT", conflicts_with = "show")]
    reviewer: Option<String>,
    /// Print the reviews of the task
    #[arg(long)]
    show: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl ReviewCommand {
    /// Returns `true` if the command needs the agents of this machine.
    pub(super) fn needs_agents(&self) -> bool {
        self.reviewer.is_some()
    }

    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        if self.show {
            return show(app, &queue.store.reviews(self.id).await?, self.json);
        }
        let task = queue.store.task(self.id).await?;
        let version = match self.attempt {
            Some(version) => version,
            None => newest_version(&*queue.store, &task).await?,
        };
        let runtime = TaskRuntime::for_store(app, &queue, test_settings(&queue.config)).await?;
        if let Some(agent) = &self.reviewer {
            let agents = app.catalog()?;
            let clones = &runtime.clones;
            let reviewed =
                review_with_agent(&*queue.store, clones, &agents, (&task, version), agent).await?;
            return self.report(app, &reviewed);
        }
        let clones = &runtime.clones;
        let diff = task::diff(&*queue.store, clones, &task, Some(version)).await?;
        let mut author = task::person(app).await;
        author.truncate(author.floor_char_boundary(MAX_REVIEW_AUTHOR_BYTES));
        if self.is_complete() {
            let sheet = self.sheet(&diff)?;
            let review = new_review(&task, version, sheet, author);
            let reviewed = queue.store.add_review(review).await?;
            return self.finish(app, &queue, reviewed).await;
        }
        self.edit(app, &queue, (&task, version), &diff, author)
            .await
    }

    /// Returns `true` if the arguments contain the review, so that no editor is needed.
    fn is_complete(&self) -> bool {
        self.approve
            || self.land
            || self.request_changes
            || self.message.is_some()
            || !self.comments.is_empty()
    }

    fn sheet(&self, diff: &str) -> Result<Sheet, CliError> {
        let lines = DiffLines::parse(diff);
        let mut comments = Vec::new();
        for argument in &self.comments {
            let mut comment = parse_comment(argument)?;
            lines.place(&mut comment).map_err(CliError::usage)?;
            comments.push(comment);
        }
        let decision = if self.approve || self.land {
            ReviewDecision::Approve
        } else if self.request_changes {
            ReviewDecision::RequestChanges
        } else {
            ReviewDecision::Comment
        };
        Ok(Sheet {
            decision,
            text: self.message.clone().unwrap_or_default(),
            comments,
        })
    }

    async fn edit(
        &self,
        app: &App<'_>,
        queue: &ProjectQueue,
        (task, version): (&Task, AttemptNumber),
        diff: &str,
        author: String,
    ) -> Result<Exit, CliError> {
        let what = format!("task {}, version {version}: {}", task.id, task.title);
        let store = queue.store.store_id().await?;
        let template = sheet::render(&what, diff);
        let file = ReviewDraft::create(app, (&store, task.id, version), template)?;
        let Some(text) = file.edit().await? else {
            file.remove();
            return Err(CliError::usage(
                "nothing was submitted: the file was not changed",
            ));
        };
        let sheet = sheet::parse(&text, diff).map_err(|why| file.kept(&why))?;
        if sheet.is_empty() {
            return Err(file.kept("the file has no comment and no decision"));
        }
        let review = new_review(task, version, sheet, author);
        match queue.store.add_review(review).await {
            Ok(reviewed) => {
                file.remove();
                self.finish(app, queue, reviewed).await
            }
            Err(error) => Err(file.kept(&error.to_string())),
        }
    }

    /// Queues an approved change for landing if that was asked for, and reports.
    async fn finish(
        &self,
        app: &App<'_>,
        queue: &ProjectQueue,
        (review, mut task): (Review, Task),
    ) -> Result<Exit, CliError> {
        if self.land && review.decision == ReviewDecision::Approve {
            task = queue.store.set_land(task.id, true).await?;
        }
        let exit = self.report(app, &(review, task))?;
        if self.land && !self.json {
            let id = self.id;
            app.console.line(&format!(
                "it lands with the next worker, or with windlass land {id}"
            ))?;
        }
        Ok(exit)
    }

    fn report(&self, app: &App<'_>, (review, task): &(Review, Task)) -> Result<Exit, CliError> {
        if self.json {
            app.console
                .pretty_json(&json!({ "review": review, "task": task }))?;
            return Ok(Exit::Done);
        }
        let (id, version) = (task.id, review.attempt);
        let comments = match review.comments.len() {
            1 => "1 comment".to_owned(),
            count => format!("{count} comments"),
        };
        let author = escape_line(&review.author);
        app.console.line(&match review.decision {
            ReviewDecision::Approve => format!("{author} approved version {version} of task {id}"),
            ReviewDecision::Comment => {
                format!("{author} commented on version {version} of task {id}: {comments}")
            }
            ReviewDecision::RequestChanges => format!(
                "{author} requested changes of version {version}: {comments}; task {id} is {} and its next attempt starts with them",
                task.status
            ),
        })?;
        Ok(Exit::Done)
    }
}

fn new_review(task: &Task, attempt: AttemptNumber, sheet: Sheet, author: String) -> NewReview {
    NewReview {
        task_id: task.id,
        attempt,
        decision: sheet.decision,
        author,
        author_kind: AuthorKind::Person,
        text: sheet.text,
        comments: sheet.comments,
    }
}

/// Returns the last attempt that has a change.
pub(super) async fn newest_version(
    store: &dyn TaskStore,
    task: &Task,
) -> Result<AttemptNumber, CliError> {
    let attempts = store.attempts(task.id).await?;
    let has_change = |status: Option<AttemptStatus>| status == Some(AttemptStatus::Completed);
    let newest = attempts
        .iter()
        .rev()
        .find(|attempt| attempt.commit.is_some() || has_change(attempt.outcome));
    match newest {
        Some(attempt) => Ok(attempt.number),
        None => Err(CliError::usage(format!(
            "task {} has no change to review: it is {}",
            task.id, task.status
        ))),
    }
}

/// Parses `PATH=TEXT`, `PATH:LINE=TEXT` or `PATH:-LINE=TEXT`.
fn parse_comment(argument: &str) -> Result<ReviewComment, CliError> {
    let Some((place, text)) = argument.split_once('=') else {
        return Err(CliError::usage(format!(
            "the comment {argument:?} has no text: write it as PATH:LINE=TEXT"
        )));
    };
    let (path, line, side) = match place.rsplit_once(':') {
        Some((path, line)) => {
            let (digits, side) = match line.strip_prefix('-') {
                Some(digits) => (digits, DiffSide::Old),
                None => (line, DiffSide::New),
            };
            match digits.parse() {
                Ok(number) => (path, Some(number), side),
                Err(_) => (place, None, DiffSide::New),
            }
        }
        None => (place, None, DiffSide::New),
    };
    Ok(ReviewComment {
        path: path.to_owned(),
        line,
        side,
        quote: None,
        text: text.to_owned(),
    })
}

fn show(app: &App<'_>, reviews: &[Review], is_json: bool) -> Result<Exit, CliError> {
    if is_json {
        app.console.pretty_json(&reviews)?;
        return Ok(Exit::Done);
    }
    if reviews.is_empty() {
        app.console.line("no reviews")?;
    }
    for review in reviews {
        for line in lines(review) {
            app.console.line(&line)?;
        }
    }
    Ok(Exit::Done)
}

/// Describes a review, one line each.
fn lines(review: &Review) -> Vec<String> {
    let kind = match review.author_kind {
        AuthorKind::Person => "",
        AuthorKind::Agent => " (agent)",
    };
    let decision = match review.decision {
        ReviewDecision::Comment => "commented on",
        ReviewDecision::RequestChanges => "requested changes of",
        ReviewDecision::Approve => "approved",
    };
    let author = escape_line(&review.author);
    let mut lines = vec![format!(
        "{STRONG}{author}{kind} {decision} version {}{STRONG:#}",
        review.attempt
    )];
    lines.extend(indented(&review.text));
    for comment in &review.comments {
        let path = escape_line(&comment.path);
        let sign = match comment.side {
            DiffSide::Old => "-",
            DiffSide::New => "",
        };
        let place = match comment.line {
            Some(line) => format!("{path}:{sign}{line}"),
            None => path.into_owned(),
        };
        let quote = escape_line(comment.quote.as_deref().unwrap_or_default());
        lines.push(format!("  {place}  {QUIET}{}{QUIET:#}", quote.trim()));
        lines.extend(indented(&comment.text));
    }
    lines
}

fn indented(text: &str) -> Vec<String> {
    let text = escape_control(text);
    text.lines().map(|line| format!("    {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comment_arguments_name_a_place() {
        let place = |argument: &str| {
            let comment = parse_comment(argument).unwrap();
            (comment.path, comment.line, comment.side, comment.text)
        };
        let new = DiffSide::New;
        assert_eq!(
            place("src/a.rs:12=use x=1"),
            ("src/a.rs".to_owned(), Some(12), new, "use x=1".to_owned())
        );
        assert_eq!(place("a:-3=why?").2, DiffSide::Old);
        assert_eq!(place("c:/x=why?").0, "c:/x");
        assert_eq!(place("a.rs=why?").1, None);
        assert!(parse_comment("a.rs:3").is_err());
    }
}
