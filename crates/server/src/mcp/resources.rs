//! Resources: the proof, diff, log and trace of a task, as `windlass://task/N/PART`.

use rmcp::model::{Resource, ResourceTemplate};
use windlass_core::{escape_control, escape_line};
use windlass_tasks::{EventFilter, Task, TaskId, TaskStatus};

use super::paging;
use super::text_page::{PageSize, TextPage, cut_line};
use crate::board::{Board, TaskSelection};
use crate::error::ApiError;
use crate::event_text::event_line;

/// How much of a resource one read returns.
const PAGE: PageSize = PageSize {
    lines: 4_000,
    bytes: 128 << 10,
};
/// The number of tasks per page of the list of resources.
const TASKS_PER_PAGE: u32 = 25;
/// The number of events that are read from the store in one call.
const EVENTS_PER_READ: u32 = 500;
/// The maximum number of such reads for one page of a log: most events are not shown.
const MAX_EVENT_READS: usize = 20;

/// A part of a task that is a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaskPart {
    Proof,
    Diff,
    Log,
    Trace,
}

impl TaskPart {
    const ALL: [Self; 4] = [Self::Proof, Self::Diff, Self::Log, Self::Trace];

    fn name(self) -> &'static str {
        match self {
            Self::Proof => "proof",
            Self::Diff => "diff",
            Self::Log => "log",
            Self::Trace => "trace",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Proof => "The record that the change passed the tests: commits, command, counts.",
            Self::Diff => "The change as a git diff.",
            Self::Log => "What happened, one line per event.",
            Self::Trace => "The newest trace: steps with their times, tokens and errors.",
        }
    }

    fn mime_type(self) -> &'static str {
        match self {
            Self::Proof | Self::Trace => "application/json",
            Self::Diff => "text/x-diff",
            Self::Log => "text/plain",
        }
    }

    /// Returns `true` if a task has this part.
    fn exists(self, task: &Task) -> bool {
        match self {
            Self::Proof => task.status == TaskStatus::Completed && !task.unverified,
            Self::Diff => task.branch.is_some(),
            Self::Log => true,
            Self::Trace => task.attempt > 0,
        }
    }

    fn uri(self, task: TaskId) -> String {
        format!("windlass://task/{task}/{}", self.name())
    }
}

/// The address of a resource.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    task: TaskId,
    part: TaskPart,
    /// Where to continue, as the previous page says.
    offset: u64,
}

impl Address {
    fn parse(uri: &str) -> Option<Self> {
        let path = uri.strip_prefix("windlass://task/")?;
        let (path, query) = path.split_once('?').unwrap_or((path, "offset=0"));
        let (task, part) = path.split_once('/')?;
        let number = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| text.parse::<u64>().ok()).flatten()
        };
        Some(Self {
            task: TaskId::from(i64::try_from(number(task)?).ok()?),
            part: TaskPart::ALL
                .into_iter()
                .find(|known| known.name() == part)?,
            offset: number(query.strip_prefix("offset=")?)?,
        })
    }
}

/// The text of a resource.
#[derive(Debug)]
pub(super) struct ResourceText {
    pub(super) text: String,
    pub(super) mime_type: &'static str,
}

/// Returns the URIs of a task's resources.
pub(super) fn uris(task: &Task) -> Vec<String> {
    let parts = TaskPart::ALL.into_iter().filter(|part| part.exists(task));
    parts.map(|part| part.uri(task.id)).collect()
}

/// Returns the templates of all resources.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |part: TaskPart| {
        let name = part.name();
        ResourceTemplate::new(format!("windlass://task/{{id}}/{name}{{?offset}}"), name)
            .with_title(format!("The {name} of a task"))
            .with_description(part.description())
            .with_mime_type(part.mime_type())
    };
    TaskPart::ALL.into_iter().map(template).collect()
}

/// Returns a page of resources, and the cursor of the next one.
pub(super) async fn list(
    board: &Board,
    cursor: Option<&str>,
) -> Result<(Vec<Resource>, Option<String>), ApiError> {
    let selection = TaskSelection {
        project: board.default_project().await?,
        after: paging::parse_cursor(cursor)?,
        limit: Some(TASKS_PER_PAGE + 1),
        ..TaskSelection::default()
    };
    let mut tasks = board.tasks(selection).await?;
    let next = paging::cut(&mut tasks, TASKS_PER_PAGE, |task| task.id);
    let mut resources = Vec::new();
    for task in &tasks {
        for part in TaskPart::ALL.into_iter().filter(|part| part.exists(task)) {
            let name = format!("task {} {}", task.id, part.name());
            let resource = Resource::new(part.uri(task.id), name)
                .with_title(cut_line(&escape_line(&task.title)))
                .with_description(part.description())
                .with_mime_type(part.mime_type());
            resources.push(resource);
        }
    }
    Ok((resources, next))
}

/// Reads a resource, or one page of it.
pub(super) async fn read(board: &Board, uri: &str) -> Result<ResourceText, ApiError> {
    let Some(Address { task, part, offset }) = Address::parse(uri) else {
        return Err(ApiError::bad_request(format!(
            "no resource {uri:?}: use windlass://task/N/proof, diff, log or trace"
        )));
    };
    let (text, next) = match part {
        TaskPart::Log => log(board, task, offset).await?,
        part => {
            let text = match part {
                TaskPart::Diff => board.diff(task, None).await?,
                TaskPart::Trace => newest_trace(board, task).await?,
                _ => pretty(&board.proof(task).await?)?,
            };
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            let page = TextPage::new(&text, start, PAGE);
            (page.text, page.next.map(|next| next as u64))
        }
    };
    let mut text = escape_control(&text).into_owned();
    if let Some(next) = next {
        text.push_str(&format!("[more: read {}?offset={next}]\n", part.uri(task)));
    }
    let is_whole = offset == 0 && next.is_none();
    Ok(ResourceText {
        text,
        // A part of a JSON document is not JSON.
        mime_type: if is_whole {
            part.mime_type()
        } else {
            "text/plain"
        },
    })
}

/// Returns the lines of a task's log after this event, and the event with which the next page continues.
async fn log(board: &Board, id: TaskId, after: u64) -> Result<(String, Option<u64>), ApiError> {
    board.store.task(id).await?;
    let mut filter = EventFilter {
        task_id: Some(id),
        after,
        limit: EVENTS_PER_READ,
        ..EventFilter::default()
    };
    let mut text = String::new();
    for _ in 0..MAX_EVENT_READS {
        let events = board.store.events(filter.clone()).await?;
        if events.is_empty() {
            return Ok((text, None));
        }
        for event in events {
            filter.after = event.seq;
            if let Some(line) = event_line(&event.message) {
                text.push_str(&format!(
                    "{}  {}\n",
                    event.seq,
                    cut_line(&escape_line(&line))
                ));
            }
            if text.len() >= PAGE.bytes {
                return Ok((text, Some(filter.after)));
            }
        }
    }
    Ok((text, Some(filter.after)))
}

async fn newest_trace(board: &Board, id: TaskId) -> Result<String, ApiError> {
    board.store.task(id).await?;
    let newest = board.store.traces(Some(id), 1).await?.into_iter().next();
    match newest {
        Some(trace) => pretty(&board.store.trace(trace).await?),
        None => Err(ApiError::conflict(format!("task {id} has no trace yet"))),
    }
}

fn pretty(value: &impl serde::Serialize) -> Result<String, ApiError> {
    serde_json::to_string_pretty(value).map_err(|error| ApiError::internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed_strictly() {
        let proof = Address {
            task: TaskId::from(7),
            part: TaskPart::Proof,
            offset: 0,
        };
        assert_eq!(Address::parse("windlass://task/7/proof"), Some(proof));
        let later = Address {
            task: TaskId::from(7),
            part: TaskPart::Diff,
            offset: 400,
        };
        assert_eq!(
            Address::parse("windlass://task/7/diff?offset=400"),
            Some(later)
        );
        for wrong in [
            "windlass://task/7",
            "windlass://task/-7/diff",
            "windlass://task/7/diff/",
            "windlass://task/7/diff?offset=",
            "windlass://task/7/diff?offset=-1",
            "windlass://task/7/diff?after=1",
            "windlass://task/99999999999999999999/diff",
            "windlass://task/7/../8/diff",
            "file:///etc/passwd",
        ] {
            assert_eq!(Address::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn templates_name_all_parts() {
        let templates = templates();
        let uris: Vec<&str> = templates
            .iter()
            .map(|template| template.uri_template.as_str())
            .collect();
        assert_eq!(
            uris,
            [
                "windlass://task/{id}/proof{?offset}",
                "windlass://task/{id}/diff{?offset}",
                "windlass://task/{id}/log{?offset}",
                "windlass://task/{id}/trace{?offset}",
            ]
        );
    }
}
