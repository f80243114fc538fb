//! Tasks in files: Markdown check lists, JSON lines, the output of `gh issue`, and plans that a person edits.
//!
//! The parsers are pure. An error names the line.

mod issues;
mod json_lines;
mod markdown;
mod plan;

use sha2::{Digest, Sha256};
use windlass_tasks::{Dependency, NewTask, ProjectId, WorkerKind};

pub(crate) use plan::{parse_plan, plan_text};

/// The maximum size of a file with tasks.
pub(crate) const MAX_FILE_BYTES: u64 = 4 << 20;
/// The maximum number of tasks in a file, as in the store.
const MAX_TASKS: usize = 1_000;

/// A task of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileTask {
    /// Where it starts, counted from one.
    pub(crate) line: usize,
    /// Makes importing it again harmless.
    pub(crate) key: String,
    /// The task. Its dependencies on other tasks of the file are siblings, by their index in the file.
    pub(crate) task: NewTask,
}

/// Reads the tasks of a file, in any of the formats. `source` is the name of the file, for the keys of tasks
/// that have none.
pub(crate) fn parse(text: &str, source: &str, project: ProjectId) -> Result<Vec<FileTask>, String> {
    let text = text.trim_start_matches('\u{feff}');
    let new = |title: &str| NewTask::new(project, title);
    let tasks = match text.trim_start().as_bytes().first() {
        None => return Err("the file is empty".to_owned()),
        Some(b'[') if !text.trim_start().starts_with("[ ]") => issues::parse_list(text, &new)?,
        Some(b'{') => match issues::parse_one(text, &new)? {
            Some(issue) => vec![issue],
            None => json_lines::parse(text, source, &new)?,
        },
        Some(_) => markdown::parse(text, source, &new)?,
    };
    if tasks.is_empty() {
        return Err("the file has no open task: expected lines such as `- [ ] title`".to_owned());
    }
    if tasks.len() > MAX_TASKS {
        return Err(format!(
            "the file has {} tasks; the limit is {MAX_TASKS}",
            tasks.len()
        ));
    }
    Ok(tasks)
}

/// Returns the key of an item: the same for the same item of the same file.
fn item_key(source: &str, path: &[&str], occurrence: usize) -> String {
    let mut hash = Sha256::new();
    for part in [source].iter().chain(path) {
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.update(occurrence.to_le_bytes());
    let digest = hash.finalize();
    let hex: String = digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("import-{hex}")
}

/// Returns the kind of worker with this name.
fn worker_kind(name: &str) -> Result<WorkerKind, String> {
    WorkerKind::from_name(name).ok_or_else(|| {
        let names = WorkerKind::ALL.map(WorkerKind::as_str);
        format!(
            "unknown kind {name:?}: expected one of {}",
            names.join(", ")
        )
    })
}

/// Returns the dependencies on these tasks of the same file.
fn siblings(mut indices: Vec<usize>) -> Vec<Dependency> {
    indices.sort_unstable();
    indices.dedup();
    indices.into_iter().map(Dependency::Sibling).collect()
}
