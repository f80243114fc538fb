//! The output of `gh issue view --json number,title,body,labels,url` and of `gh issue list --json …`.

use serde::Deserialize;
use serde_json::Value;
use windlass_tasks::NewTask;

use super::{FileTask, item_key};

/// The maximum length of a URL that is used as a key.
const MAX_KEY_BYTES: usize = 400;

/// An issue. Fields that are not used are allowed: `gh` prints those that its user asked for.
#[derive(Deserialize)]
struct GithubIssue {
    number: u64,
    title: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    labels: Vec<Label>,
    url: Option<String>,
}

#[derive(Deserialize)]
struct Label {
    name: String,
}

/// Reads a list of issues.
pub(super) fn parse_list(
    text: &str,
    new: &dyn Fn(&str) -> NewTask,
) -> Result<Vec<FileTask>, String> {
    let issues: Vec<Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let issues = issues.into_iter().enumerate();
    issues
        .map(|(index, issue)| {
            let read: GithubIssue = serde_json::from_value(issue).map_err(|error| {
                format!("entry {}: {error}; expected the output of gh issue list --json number,title,body,labels,url", index + 1)
            })?;
            task(read, new)
        })
        .collect()
}

/// Reads one issue. Returns `None` if the text is not an issue.
pub(super) fn parse_one(
    text: &str,
    new: &dyn Fn(&str) -> NewTask,
) -> Result<Option<FileTask>, String> {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return Ok(None);
    };
    if value.get("number").is_none() {
        return Ok(None);
    }
    let issue: GithubIssue = serde_json::from_value(value).map_err(|error| {
        format!("{error}; expected the output of gh issue view --json number,title,body,labels,url")
    })?;
    task(issue, new).map(Some)
}

fn task(issue: GithubIssue, new: &dyn Fn(&str) -> NewTask) -> Result<FileTask, String> {
    let number = issue.number;
    let title = issue.title.trim();
    if title.is_empty() {
        return Err(format!("issue {number} has no title"));
    }
    let url = issue.url.filter(|url| !url.is_empty());
    let Some(url) = url else {
        return Err(format!(
            "issue {number} has no url, which identifies it: add url to the fields of --json"
        ));
    };
    let mut description = issue.body.replace("\r\n", "\n").trim().to_owned();
    if !description.is_empty() {
        description.push_str("\n\n");
    }
    description.push_str(&format!("From {url}"));
    let defaults = new(title);
    let priority = issue.labels.iter().find_map(|label| priority(&label.name));
    let key = if url.len() <= MAX_KEY_BYTES {
        format!("issue:{url}")
    } else {
        item_key("issue", &[&url], 1)
    };
    Ok(FileTask {
        line: 1,
        key,
        task: NewTask {
            description,
            priority: priority.unwrap_or(defaults.priority),
            ..defaults
        },
    })
}

/// Returns the priority of a label such as `P1` or `priority: 1`.
fn priority(label: &str) -> Option<u8> {
    let label = label.to_ascii_lowercase();
    let rest = label.strip_prefix("priority").unwrap_or(&label);
    let rest = rest.trim_start_matches([':', '-', '/', ' ']);
    let digit = rest.strip_prefix('p').unwrap_or(rest);
    let is_named = rest.len() < label.len() || digit.len() < rest.len();
    match digit.as_bytes() {
        [digit @ b'0'..=b'4'] if is_named => Some(digit - b'0'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use windlass_tasks::ProjectId;

    use super::*;

    fn new(title: &str) -> NewTask {
        NewTask::new(ProjectId::from(1), title)
    }

    #[test]
    fn issues_become_tasks() {
        let one = r#"{"number": 12, "title": "Crash", "body": "It\r\ncrashes.", "state": "OPEN",
            "labels": [{"name": "bug", "color": "f00"}, {"name": "P0"}], "url": "https://example.org/i/12"}"#;
        let issue = parse_one(one, &new).unwrap().unwrap();
        assert_eq!(issue.key, "issue:https://example.org/i/12");
        assert_eq!(issue.task.priority, 0);
        assert_eq!(
            issue.task.description,
            "It\ncrashes.\n\nFrom https://example.org/i/12"
        );
        let list = parse_list(&format!("[{one}]"), &new).unwrap();
        assert_eq!(list, [issue]);
        assert_eq!(parse_one("{\"title\": \"a\"}", &new), Ok(None));
        let error = parse_list("[{\"title\": \"a\"}]", &new).unwrap_err();
        assert!(error.contains("entry 1: missing field `number`"), "{error}");
        let error = parse_one("{\"number\": 1, \"title\": \"a\"}", &new).unwrap_err();
        assert!(error.contains("has no url"), "{error}");
    }

    #[test]
    fn priority_is_read_from_labels() {
        for (label, wanted) in [
            ("P1", Some(1)),
            ("p4", Some(4)),
            ("priority: 3", Some(3)),
            ("priority/p2", Some(2)),
            ("2", None),
            ("P9", None),
            ("performance", None),
            ("priority", None),
        ] {
            assert_eq!(priority(label), wanted, "{label}");
        }
    }
}
