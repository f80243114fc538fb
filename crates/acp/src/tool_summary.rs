//! A tool call as a person reads it on a terminal: from the same view that clients get. Pure.

use std::path::Path;

use agent_client_protocol::v1::schema::ToolCallContent;
use serde_json::Value;

use crate::paths::Paths;
use crate::tool_view;

/// A short description of a tool call, with the changes of files that it requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolSummary {
    /// The command, or the tool with its subject.
    pub title: String,
    /// The changes of files.
    pub edits: Vec<FileEdit>,
}

/// A change of one file: of the whole file, or of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// The path, relative if it is in the working directory.
    pub path: String,
    /// The text before; `None` if the file is written as a whole.
    pub old: Option<String>,
    /// The text after.
    pub new: String,
}

/// Summarizes a call of a tool by an agent that works in this directory.
pub fn summarize_tool(name: &str, input: &Value, cwd: &Path) -> ToolSummary {
    let paths = Paths::in_dir(cwd);
    let view = tool_view::view(name, input, &paths);
    let edit = |content| match content {
        ToolCallContent::Diff(diff) => Some(FileEdit {
            path: paths.brief(&diff.path),
            old: diff.old_text,
            new: diff.new_text,
        }),
        _ => None,
    };
    ToolSummary {
        title: view.title,
        edits: view.diffs.into_iter().filter_map(edit).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn summary_has_title_and_edits() {
        let input = json!({ "file_path": "/w/src/a.rs", "old_string": "1", "new_string": "2" });
        let summary = summarize_tool("Edit", &input, Path::new("/w"));
        assert_eq!(summary.title, "Edit src/a.rs");
        let edit = FileEdit {
            path: "src/a.rs".to_owned(),
            old: Some("1".to_owned()),
            new: "2".to_owned(),
        };
        assert_eq!(summary.edits, [edit]);
        let summary = summarize_tool("Bash", &json!({ "command": "ls" }), Path::new("/w"));
        assert_eq!((summary.title.as_str(), summary.edits.len()), ("ls", 0));
    }
}
