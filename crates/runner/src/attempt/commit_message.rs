//! The message of a published commit: the user's template, then trailers.

use windlass_core::{escape_control, escape_line};
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
    let title = one_line(&task.title);
    let explanation = without_trailers(&truncate_end(explanation.trim(), MAX_EXPLANATION_BYTES));
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

/// Returns a title as one line of a commit message.
pub(crate) fn one_line(title: &str) -> String {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    escape_line(&truncate_end(&title, MAX_TITLE_BYTES)).into_owned()
}

/// Indents the lines of an agent's text that name people, or that look like ours: programs that read commits take
/// them for trailers.
fn without_trailers(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once(':') {
        Some((name, _)) if is_trailer(name.trim()) => format!("  {}", line.trim()),
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn is_trailer(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_ours = ["windlass-proof", "task-id", "attempt"].contains(&name.as_str());
    is_ours || (name.ends_with("-by") && !name.contains(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_an_agent_adds_no_trailer() {
        let text = "Done.\n\nSigned-off-by: Ada <ada@example.org>\nco-authored-by : Eve\nTask-Id: 9\nNote: kept";
        let shown = without_trailers(text);
        assert_eq!(
            shown,
            "Done.\n\n  Signed-off-by: Ada <ada@example.org>\n  co-authored-by : Eve\n  Task-Id: 9\nNote: kept"
        );
        assert_eq!(
            one_line("A\n\nTask-Id: 9\t\u{1b}[31m"),
            "A Task-Id: 9 \\u{1b}[31m"
        );
    }
}
