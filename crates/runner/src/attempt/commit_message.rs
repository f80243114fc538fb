//! The message of a published commit: the user's template, then trailers.

use windlass_core::escape_control;
use windlass_tasks::AttemptRef;

use super::AttemptContext;
use crate::template::{render, truncate_end};

/// Maximum length of the parts that come from a task and an agent.
const MAX_TITLE_BYTES: usize = 100;
const MAX_EXPLANATION_BYTES: usize = 4000;

/// Returns the message of an attempt's commit. The trailers come last: recovery and `git log --grep` search for
/// them.
pub(super) fn commit_message(attempt: &AttemptContext<'_>, explanation: &str) -> String {
    let (settings, task) = (&attempt.runner.settings.commit, &attempt.task);
    let agent = attempt.trace.agent().unwrap_or_default();
    let title = task.title.split_whitespace().collect::<Vec<_>>().join(" ");
    let title = truncate_end(&title, MAX_TITLE_BYTES);
    let explanation = truncate_end(explanation.trim(), MAX_EXPLANATION_BYTES);
    let agent = agent.split_whitespace().collect::<Vec<_>>().join("-");
    let agent: String = agent.chars().filter(|c| !"<>".contains(*c)).collect();
    let number = task.id.to_string();
    let values = [
        ("title", title.as_str()),
        ("explanation", explanation.as_str()),
        ("task", number.as_str()),
        ("agent", agent.as_str()),
    ];
    let text = render(&settings.template, &values);
    let co_author = render(&settings.co_author, &values);
    let mut message = format!("{}\n\n", escape_control(&text));
    if !co_author.is_empty() {
        let co_author = co_author.lines().next().unwrap_or_default().to_owned();
        message.push_str(&format!("Co-authored-by: {}\n", escape_control(&co_author)));
    }
    let AttemptRef { task, number } = attempt.at;
    message.push_str(&format!(
        "Windlass-Proof: task-{task}/attempt-{number}\nTask-Id: {task}\nAttempt: {number}\n"
    ));
    message
}
