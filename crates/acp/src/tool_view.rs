//! How a tool call is shown: its title, kind, files and diffs, from its name and input. Pure.
//!
//! Agents name their tools and inputs differently. What is not recognized is shown by the tool's name.

use agent_client_protocol::v1::schema::{Diff, ToolCallContent, ToolCallLocation, ToolKind};
use serde_json::Value;

use crate::paths::Paths;
use crate::text_diff;

/// Maximum length of a title.
const MAX_TITLE: usize = 120;

/// Words in the names of tools, and the kinds that they mean. The first match decides.
const KINDS: &[(&str, ToolKind)] = &[
    ("websearch", ToolKind::Fetch),
    ("fetch", ToolKind::Fetch),
    ("delete", ToolKind::Delete),
    ("move", ToolKind::Move),
    ("edit", ToolKind::Edit),
    ("write", ToolKind::Edit),
    ("patch", ToolKind::Edit),
    ("replace", ToolKind::Edit),
    ("grep", ToolKind::Search),
    ("glob", ToolKind::Search),
    ("search", ToolKind::Search),
    ("read", ToolKind::Read),
    ("list", ToolKind::Read),
    ("view", ToolKind::Read),
    ("bash", ToolKind::Execute),
    ("shell", ToolKind::Execute),
    ("exec", ToolKind::Execute),
    ("command", ToolKind::Execute),
    ("python", ToolKind::Execute),
    ("think", ToolKind::Think),
];

/// A tool call as a client shows it.
#[derive(Debug, Default)]
pub(crate) struct ToolView {
    pub(crate) title: String,
    pub(crate) kind: ToolKind,
    pub(crate) locations: Vec<ToolCallLocation>,
    pub(crate) diffs: Vec<ToolCallContent>,
}

/// Returns how a call of this tool is shown.
pub(crate) fn view(name: &str, input: &Value, paths: &Paths) -> ToolView {
    let kind = kind(name);
    let diffs = diffs(kind, input, paths);
    let mut locations = locations(input, paths);
    for path in diffs.iter().map(|diff| &diff.path) {
        if !locations.iter().any(|location| location.path == *path) {
            locations.push(ToolCallLocation::new(path.clone()));
        }
    }
    ToolView {
        title: title(name, input, &locations, paths),
        kind,
        locations,
        diffs: diffs.into_iter().map(ToolCallContent::Diff).collect(),
    }
}

/// Returns the kind of a tool. The tools of MCP servers are of no known kind.
fn kind(name: &str) -> ToolKind {
    let name: String = name.to_lowercase().replace(['_', '-', ' '], "");
    if name.starts_with("mcp") || name.contains('.') {
        return ToolKind::Other;
    }
    let found = KINDS.iter().find(|(word, _)| name.contains(word));
    found.map_or(ToolKind::Other, |(_, kind)| *kind)
}

fn title(name: &str, input: &Value, locations: &[ToolCallLocation], paths: &Paths) -> String {
    let text = |key: &str| input[key].as_str().filter(|text| !text.trim().is_empty());
    let command = ["command", "cmd"].iter().find_map(|key| text(key));
    let command = command
        .map(str::to_owned)
        .or_else(|| argv(&input["command"]));
    let subject = ["pattern", "query", "url", "description"];
    let title = if let Some(command) = command {
        command
    } else if let Some(title) = text("title") {
        title.to_owned()
    } else if let Some(location) = locations.first() {
        format!("{name} {}", paths.brief(&location.path))
    } else if let Some(subject) = subject.iter().find_map(|key| text(key)) {
        format!("{name} {subject}")
    } else {
        name.to_owned()
    };
    let line = title.trim().lines().next().unwrap_or(name);
    match line.char_indices().nth(MAX_TITLE) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// Returns a command that is a list of arguments.
fn argv(command: &Value) -> Option<String> {
    let words: Option<Vec<&str>> = command.as_array()?.iter().map(Value::as_str).collect();
    words.map(|words| words.join(" "))
}

fn locations(input: &Value, paths: &Paths) -> Vec<ToolCallLocation> {
    let single = ["file_path", "notebook_path", "path", "filePath"];
    let single = single.iter().filter_map(|key| input[*key].as_str()).take(1);
    let several = input["paths"].as_array().into_iter().flatten();
    let several = several.filter_map(Value::as_str);
    let line = ["line", "start_line", "offset"]
        .iter()
        .find_map(|key| input[*key].as_u64());
    let line = line.and_then(|line| u32::try_from(line).ok());
    single
        .chain(several)
        .map(|path| ToolCallLocation::new(paths.resolve(path)).line(line))
        .collect()
}

fn diffs(kind: ToolKind, input: &Value, paths: &Paths) -> Vec<Diff> {
    let path = ["file_path", "path", "filePath"]
        .iter()
        .find_map(|key| input[*key].as_str());
    if let Some(changes) = input["changes"].as_array() {
        return changes
            .iter()
            .flat_map(|change| codex_change(change, paths))
            .collect();
    }
    let patch = ["patch", "input", "diff"]
        .iter()
        .find_map(|key| input[*key].as_str());
    if let Some(patch) = patch.filter(|_| kind == ToolKind::Edit) {
        return patched(patch, path, paths);
    }
    let Some(path) = path.map(|path| paths.resolve(path)) else {
        return Vec::new();
    };
    let replacement = |edit: &Value| {
        let text = |keys: [&str; 3]| {
            keys.iter()
                .find_map(|key| edit[*key].as_str())
                .map(str::to_owned)
        };
        let old = text(["old_string", "old", "oldText"])?;
        let new = text(["new_string", "new", "newText"])?;
        Some(Diff::new(path.clone(), new).old_text(Some(old)))
    };
    if let Some(edits) = input["edits"].as_array() {
        return edits.iter().filter_map(replacement).collect();
    }
    let written = || {
        let content = input["content"]
            .as_str()
            .filter(|_| kind == ToolKind::Edit)?;
        Some(Diff::new(path.clone(), content))
    };
    replacement(input).or_else(written).into_iter().collect()
}

/// Returns a change as Codex reports it: a new file as its content, others as a diff.
fn codex_change(change: &Value, paths: &Paths) -> Vec<Diff> {
    let (Some(path), Some(text)) = (change["path"].as_str(), change["diff"].as_str()) else {
        return Vec::new();
    };
    let kind = change["kind"]["type"].as_str().or(change["kind"].as_str());
    let path = paths.resolve(path);
    match kind {
        Some("add") => vec![Diff::new(path, text)],
        Some("delete") => vec![Diff::new(path, "").old_text(Some(text.to_owned()))],
        _ => {
            let path = path.to_string_lossy();
            patched(text, Some(&path), paths)
        }
    }
}

/// Returns the diffs of a patch. `path` is used for a file without a header.
fn patched(patch: &str, path: Option<&str>, paths: &Paths) -> Vec<Diff> {
    let files = text_diff::parse(patch).into_iter();
    let diff = |file: text_diff::TextDiff| {
        let path = path.map(str::to_owned).or(file.path)?;
        Some(Diff::new(paths.resolve(&path), file.new).old_text(file.old))
    };
    files.filter_map(diff).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    /// Shows a call as `kind | title | locations | path: old → new`.
    fn shown(name: &str, input: Value) -> String {
        let view = view(name, &input, &Paths::in_dir(Path::new("/w")));
        let locations: Vec<String> = view
            .locations
            .iter()
            .map(|it| it.path.display().to_string())
            .collect();
        let diffs = view.diffs.iter().map(|content| match content {
            ToolCallContent::Diff(diff) => format!(
                "{}: {:?} → {:?}",
                diff.path.display(),
                diff.old_text,
                diff.new_text
            ),
            other => format!("{other:?}"),
        });
        let diffs: Vec<String> = diffs.collect();
        format!(
            "{:?} | {} | {} | {}",
            view.kind,
            view.title,
            locations.join(","),
            diffs.join("; ")
        )
    }

    #[test]
    fn tools_of_every_agent_are_shown() {
        let check =
            |name: &str, input: Value, expected: &str| assert_eq!(shown(name, input), expected);
        // Claude Code.
        check(
            "Bash",
            json!({ "command": "cargo test\necho", "description": "Run" }),
            "Execute | cargo test |  | ",
        );
        check(
            "Edit",
            json!({ "file_path": "/w/a.rs", "old_string": "one", "new_string": "two" }),
            r#"Edit | Edit a.rs | /w/a.rs | /w/a.rs: Some("one") → "two""#,
        );
        check(
            "MultiEdit",
            json!({ "file_path": "/w/a", "edits": [{ "old_string": "1", "new_string": "2" }] }),
            r#"Edit | MultiEdit a | /w/a | /w/a: Some("1") → "2""#,
        );
        check(
            "Write",
            json!({ "file_path": "/w/n", "content": "x" }),
            r#"Edit | Write n | /w/n | /w/n: None → "x""#,
        );
        check(
            "Grep",
            json!({ "pattern": "fn main" }),
            "Search | Grep fn main |  | ",
        );
        // Codex.
        check(
            "shell",
            json!({ "command": "/bin/bash -lc ls" }),
            "Execute | /bin/bash -lc ls |  | ",
        );
        check(
            "apply_patch",
            json!({ "changes": [{ "path": "/w/n", "kind": { "type": "add" }, "diff": "hi\n" }, { "path": "/w/a", "kind": { "type": "update" }, "diff": "@@ -1 +1 @@\n-b\n+c\n" }] }),
            r#"Edit | apply_patch n | /w/n,/w/a | /w/n: None → "hi\n"; /w/a: Some("b\n") → "c\n""#,
        );
        check(
            "apply_patch",
            json!({ "paths": ["n"], "item": "call" }),
            "Edit | apply_patch n | /w/n | ",
        );
        // Windlass's own tools.
        check("shell_run", json!({ "cmd": "ls" }), "Execute | ls |  | ");
        check(
            "fs_read",
            json!({ "path": "a", "start_line": 3 }),
            "Read | fs_read a | /w/a | ",
        );
        // ACP agents that report a title only, MCP tools, and nothing at all.
        check(
            "edit",
            json!({ "title": "Edit a.rs", "paths": ["/w/a.rs"] }),
            "Edit | Edit a.rs | /w/a.rs | ",
        );
        check(
            "mcp__tracker__search",
            json!({ "query": "bug" }),
            "Other | mcp__tracker__search bug |  | ",
        );
        check("mystery", Value::Null, "Other | mystery |  | ");
    }
}
