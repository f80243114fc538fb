//! Reads the two sides of a textual diff: the lines before and after. Pure.

/// The changed parts of one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TextDiff {
    /// The path in the header of the diff, if there is one.
    pub(crate) path: Option<String>,
    /// The text before; `None` if the file is new.
    pub(crate) old: Option<String>,
    /// The text after.
    pub(crate) new: String,
}

/// Parses a unified diff or a patch with `*** Update File:` headers, of one or more files. Only the changed parts
/// and their context are known, not the whole files.
pub(crate) fn parse(diff: &str) -> Vec<TextDiff> {
    let mut files: Vec<TextDiff> = Vec::new();
    let mut is_new = false;
    for line in diff.lines() {
        if let Some(path) = header_path(line) {
            let is_new_file = line.starts_with("*** Add File:") || std::mem::take(&mut is_new);
            files.push(TextDiff {
                path: Some(path),
                old: (!is_new_file).then(String::new),
                new: String::new(),
            });
        } else if let Some(old) = line.strip_prefix("--- ") {
            is_new = old.trim() == "/dev/null";
        } else if !is_other_header(line) {
            if files.is_empty() {
                let old = Some(String::new());
                files.push(TextDiff {
                    old,
                    ..TextDiff::default()
                });
            }
            if let Some(file) = files.last_mut() {
                push_line(file, line);
            }
        }
    }
    files
}

fn push_line(file: &mut TextDiff, line: &str) {
    let (on_old, on_new, text) = match line.split_at_checked(1) {
        Some(("-", text)) => (true, false, text),
        Some(("+", text)) => (false, true, text),
        Some((" ", text)) => (true, true, text),
        _ if line.is_empty() => (true, true, ""),
        _ => return,
    };
    if let Some(old) = file.old.as_mut().filter(|_| on_old) {
        old.push_str(text);
        old.push('\n');
    }
    if on_new {
        file.new.push_str(text);
        file.new.push('\n');
    }
}

/// Returns the path if the line starts the changes of a file.
fn header_path(line: &str) -> Option<String> {
    let starts = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
    if let Some(path) = starts.iter().find_map(|start| line.strip_prefix(start)) {
        return Some(path.trim().to_owned());
    }
    let path = line.strip_prefix("+++ ")?.split('\t').next()?.trim();
    Some(path.strip_prefix("b/").unwrap_or(path).to_owned())
}

fn is_other_header(line: &str) -> bool {
    let starts = [
        "@@",
        "*** ",
        "diff ",
        "index ",
        "new file",
        "deleted file",
        "\\ ",
    ];
    starts.iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_read() {
        let unified = "--- a/x.txt\n+++ b/x.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n--- /dev/null\n+++ b/y.txt\n@@ -0,0 +1 @@\n+new\n";
        let files = parse(unified);
        assert_eq!(files.len(), 2, "{files:?}");
        assert_eq!(files[0].path.as_deref(), Some("x.txt"));
        assert_eq!(files[0].old.as_deref(), Some("one\ntwo\n"));
        assert_eq!(files[0].new, "one\nthree\n");
        assert_eq!(
            (files[1].old.as_deref(), files[1].new.as_str()),
            (None, "new\n")
        );
    }

    #[test]
    fn patches_and_bare_hunks_are_read() {
        let patch =
            "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** Add File: y\n+c\n*** End Patch\n";
        let files = parse(patch);
        assert_eq!(
            (files[0].old.as_deref(), files[0].new.as_str()),
            (Some("a\n"), "b\n")
        );
        assert_eq!(
            (files[1].old.as_deref(), files[1].new.as_str()),
            (None, "c\n")
        );
        let files = parse("@@ -1 +1 @@\n-a\n+b\n");
        assert_eq!(
            files[0],
            TextDiff {
                path: None,
                old: Some("a\n".to_owned()),
                new: "b\n".to_owned()
            }
        );
        assert!(parse("").is_empty());
    }
}
