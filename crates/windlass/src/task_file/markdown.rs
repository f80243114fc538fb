//! Markdown check lists: `- [ ] title`, indented text as the description, nested items first.

use std::collections::HashMap;

use windlass_tasks::NewTask;

use super::{FileTask, item_key, siblings};

/// An open item of the list.
struct ListItem {
    line: usize,
    indent: usize,
    title: String,
    description: Vec<String>,
    /// The items that it is nested in, outermost first.
    path: Vec<String>,
    /// The items that are nested in it.
    children: Vec<usize>,
}

/// Reads a check list. Items that are checked, and other text, are not tasks.
pub(super) fn parse(
    text: &str,
    source: &str,
    new: &dyn Fn(&str) -> NewTask,
) -> Result<Vec<FileTask>, String> {
    let mut items: Vec<ListItem> = Vec::new();
    // The items that the current line is nested in: their indents, and their index if they are open.
    let mut open: Vec<(usize, Option<usize>)> = Vec::new();
    let mut fence: Option<String> = None;
    for (index, line) in text.lines().enumerate() {
        let indent = indent(line);
        let inner = line.trim_start();
        if !inner.is_empty() && fence.is_none() {
            open.retain(|(at, _)| *at < indent);
        }
        if fence.is_none()
            && let Some((done, title)) = item(inner)
        {
            let number = index + 1;
            if title.is_empty() {
                return Err(format!("line {number}: the item has no title"));
            }
            let parents: Vec<usize> = open.iter().filter_map(|(_, item)| *item).collect();
            let own = (!done).then_some(items.len());
            if !done {
                let path = parents.iter().map(|at| items[*at].title.clone());
                let path = path.collect();
                let own = items.len();
                if let Some(parent) = open.last().and_then(|(_, item)| *item) {
                    items[parent].children.push(own);
                }
                items.push(ListItem {
                    line: number,
                    indent,
                    title: title.to_owned(),
                    description: Vec::new(),
                    path,
                    children: Vec::new(),
                });
            }
            open.push((indent, own));
            continue;
        }
        fence = next_fence(fence, inner);
        if let Some((_, Some(at))) = open.last() {
            let item = &mut items[*at];
            let cut = indent.min(item.indent + 2);
            item.description.push(cut_indent(line, cut).to_owned());
        }
    }
    Ok(tasks(items, source, new))
}

fn tasks(items: Vec<ListItem>, source: &str, new: &dyn Fn(&str) -> NewTask) -> Vec<FileTask> {
    let mut seen: HashMap<Vec<String>, usize> = HashMap::new();
    let mut tasks = Vec::with_capacity(items.len());
    for item in items {
        let mut path = item.path;
        path.push(item.title.clone());
        let occurrence = seen.entry(path.clone()).or_default();
        *occurrence += 1;
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        tasks.push(FileTask {
            line: item.line,
            key: item_key(source, &path, *occurrence),
            task: NewTask {
                description: item.description.join("\n").trim().to_owned(),
                dependencies: siblings(item.children),
                ..new(&item.title)
            },
        });
    }
    tasks
}

/// Returns whether an item is checked, and its title.
fn item(line: &str) -> Option<(bool, &str)> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+'])?,
        1..=9 => line[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let (done, rest) = match rest.get(..3)? {
        "[ ]" => (false, &rest[3..]),
        "[x]" | "[X]" => (true, &rest[3..]),
        _ => return None,
    };
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| (done, rest.trim()))
}

/// Returns the width of the indent; a tab counts as four.
fn indent(line: &str) -> usize {
    let blank = line.chars().take_while(|char| [' ', '\t'].contains(char));
    blank.map(|char| if char == '\t' { 4 } else { 1 }).sum()
}

/// Removes an indent of this width.
fn cut_indent(line: &str, width: usize) -> &str {
    let mut left = width;
    let mut rest = line;
    while left > 0 {
        let (cut, next) = match rest.as_bytes().first() {
            Some(b' ') => (1, &rest[1..]),
            Some(b'\t') => (4, &rest[1..]),
            _ => break,
        };
        left = left.saturating_sub(cut);
        rest = next;
    }
    rest
}

/// Returns the code fence that is open after this line. Nothing in it is an item.
fn next_fence(fence: Option<String>, line: &str) -> Option<String> {
    let Some(open) = fence else {
        let mark = line
            .chars()
            .next()
            .filter(|char| ['`', '~'].contains(char))?;
        let length = line.chars().take_while(|char| *char == mark).count();
        return (length >= 3).then(|| line[..length].to_owned());
    };
    (!line.trim_end().starts_with(&open)).then_some(open)
}

#[cfg(test)]
mod tests {
    use windlass_tasks::{Dependency, ProjectId};

    use super::*;

    fn read(text: &str) -> Vec<FileTask> {
        parse(text, "TODO.md", &|title| {
            NewTask::new(ProjectId::from(1), title)
        })
        .unwrap()
    }

    #[test]
    fn check_list_becomes_tasks() {
        let tasks = read(
            "# Plan\n\n- [ ] Release\n  All of it.\n\n      code\n  - [ ] Changelog\n  - [x] Version\n    - [ ] Tag\n\
             * [ ] Tidy\n+ [X] Old\n1. [ ] Number\nNo item.\n- plain\n",
        );
        let found: Vec<(usize, &str, &str)> = tasks
            .iter()
            .map(|task| {
                (
                    task.line,
                    task.task.title.as_str(),
                    task.task.description.as_str(),
                )
            })
            .collect();
        let wanted = [
            (3, "Release", "All of it.\n\n    code"),
            (7, "Changelog", ""),
            (9, "Tag", ""),
            (10, "Tidy", ""),
            (12, "Number", ""),
        ];
        assert_eq!(found, wanted);
        assert_eq!(tasks[0].task.dependencies, [Dependency::Sibling(1)]);
        assert!(
            tasks[1..]
                .iter()
                .all(|task| task.task.dependencies.is_empty())
        );
    }

    #[test]
    fn items_in_code_are_not_tasks() {
        let tasks = read("- [ ] a\n  ```\n  - [ ] not\n  ``\n  ````\n- [ ] b\n~~~\n- [ ] no\n");
        let titles: Vec<&str> = tasks.iter().map(|task| task.task.title.as_str()).collect();
        assert_eq!(titles, ["a", "b"]);
        assert!(tasks[0].task.description.contains("- [ ] not"));
    }

    #[test]
    fn keys_depend_on_the_item_and_not_on_its_line() {
        let before = read("- [ ] a\n- [ ] b\n- [ ] a\n");
        let after = read("Intro.\n\n- [ ] new\n- [x] b\n- [ ] a\n  now with text\n- [ ] a\n");
        assert_eq!(before[0].key, after[1].key);
        assert_eq!(before[2].key, after[2].key);
        assert_ne!(before[0].key, before[2].key);
        let other = parse("- [ ] a", "other.md", &|title| {
            NewTask::new(ProjectId::from(1), title)
        });
        assert_ne!(other.unwrap()[0].key, before[0].key);
    }

    #[test]
    fn odd_text_is_read() {
        assert_eq!(
            parse("- [ ]  \n", "x", &|title| NewTask::new(
                ProjectId::from(1),
                title
            )),
            Err("line 1: the item has no title".to_owned())
        );
        let long = "ü".repeat(200);
        let tasks = read(&format!("-\t[ ] {long}\u{1b}[31m\r\n\t- [ ] tab\r\n"));
        assert!(tasks[0].task.title.starts_with(&long));
        assert_eq!(tasks[0].task.dependencies, [Dependency::Sibling(1)]);
        assert!(read("- [é] x\n-[ ] y\n- [ ]z\n- [\n").is_empty());
    }
}
