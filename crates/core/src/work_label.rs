//! The work that a session belongs to.

/// The work that a session belongs to, so that what it uses can be counted for it. The agent never sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct WorkLabel {
    /// The id of the project.
    pub project: Option<i64>,
    /// The id of the task.
    pub task: Option<i64>,
    /// The number of the attempt at the task.
    pub attempt: Option<u32>,
    /// The person who asked for the work.
    pub person: Option<String>,
}
