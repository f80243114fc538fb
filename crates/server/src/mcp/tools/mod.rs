//! The tools. To add one, implement [`McpOperation`](super::operation::McpOperation) and add it to [`all`].

mod agents;
mod answers;
mod change;
mod review;
mod tasks;

use std::sync::LazyLock;

use super::operation::ToolEntry;

/// Returns all tools, in the order in which clients see them.
pub(super) fn all() -> &'static [ToolEntry] {
    static TOOLS: LazyLock<Vec<ToolEntry>> = LazyLock::new(|| {
        vec![
            ToolEntry::new::<tasks::ListTasks>(),
            ToolEntry::new::<tasks::ShowTask>(),
            ToolEntry::new::<tasks::WaitForTask>(),
            ToolEntry::new::<change::DiffTask>(),
            ToolEntry::new::<answers::ListBlockers>(),
            ToolEntry::new::<answers::ListApprovals>(),
            ToolEntry::new::<agents::ListAgents>(),
            ToolEntry::new::<tasks::AddTask>(),
            ToolEntry::new::<tasks::RetryTask>(),
            ToolEntry::new::<agents::AskAgent>(),
            ToolEntry::new::<answers::AnswerBlocker>(),
            ToolEntry::new::<answers::DecideApproval>(),
            ToolEntry::new::<tasks::CancelTask>(),
            ToolEntry::new::<change::MergeTask>(),
            ToolEntry::new::<review::ReviewTask>(),
            ToolEntry::new::<review::LandTask>(),
            ToolEntry::new::<review::PushTask>(),
        ]
    });
    &TOOLS
}

/// Returns the tool with this name.
pub(super) fn find(name: &str) -> Option<&'static ToolEntry> {
    all().iter().find(|entry| entry.tool.name == name)
}
