//! A plan as text that a person edits before its tasks are added.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use windlass_core::escape_line;
use windlass_tasks::{Dependency, NewTask};

use super::worker_kind;

/// What the person reads first.
const HEADER: &str = "\
<!-- Edit the plan, then save and close the editor: its tasks are added.
     A task starts with `## NUMBER. TITLE`. Then come its fields, an empty line and its description.
     An empty agent is the configured one; `after` lists the tasks that must be completed first.
     Delete a task to omit it. Delete everything to add nothing. -->
";

/// Returns the plan as text.
pub(crate) fn plan_text(tasks: &[NewTask]) -> String {
    let mut text = HEADER.to_owned();
    for (index, task) in tasks.iter().enumerate() {
        let after: Vec<String> = task.dependencies.iter().map(label).collect();
        let _ = write!(
            text,
            "\n## {}. {}\nagent: {}\npriority: {}\nstep: {}\nkind: {}\nafter: {}\n\n",
            index + 1,
            escape_line(&task.title),
            escape_line(task.agent.as_deref().unwrap_or_default()),
            task.priority,
            task.workflow_step,
            task.kind.as_str(),
            after.join(", "),
        );
        for line in task.description.trim().lines() {
            let escape = if is_escaped(line) || heading(line).is_some() {
                "\\"
            } else {
                ""
            };
            let _ = writeln!(text, "{escape}{line}");
        }
    }
    text
}

/// Formats a dependency; tasks of the plan are numbered from one.
fn label(dependency: &Dependency) -> String {
    match dependency {
        Dependency::Sibling(index) => (index + 1).to_string(),
        Dependency::Task(id) => format!("task {id}"),
    }
}

/// A task of the text, before the numbers are resolved.
struct Section {
    line: usize,
    task: NewTask,
    after: Vec<u64>,
    description: Vec<String>,
    in_fields: bool,
}

/// Reads an edited plan. `template` has what the text does not say.
pub(crate) fn parse_plan(text: &str, template: &NewTask) -> Result<Vec<NewTask>, String> {
    let mut sections: Vec<Section> = Vec::new();
    let mut numbers: BTreeMap<u64, usize> = BTreeMap::new();
    let mut in_comment = false;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some((label, title)) = heading(line) {
            if title.is_empty() {
                return Err(format!("line {number}: task {label} has no title"));
            }
            if numbers.insert(label, sections.len()).is_some() {
                return Err(format!("line {number}: there are two tasks {label}"));
            }
            let mut task = template.clone();
            task.title = title.to_owned();
            sections.push(Section {
                line: number,
                task,
                after: Vec::new(),
                description: Vec::new(),
                in_fields: true,
            });
            continue;
        }
        let Some(section) = sections.last_mut() else {
            in_comment |= line.trim_start().starts_with("<!--");
            if !in_comment && !line.trim().is_empty() {
                return Err(format!(
                    "line {number}: expected `## NUMBER. TITLE` before {line:?}"
                ));
            }
            in_comment &= !line.contains("-->");
            continue;
        };
        if section.in_fields && !line.trim().is_empty() {
            field(section, line).map_err(|why| format!("line {number}: {why}"))?;
        } else if section.in_fields {
            section.in_fields = false;
        } else {
            let line = if is_escaped(line) { &line[1..] } else { line };
            section.description.push(line.to_owned());
        }
    }
    resolve(sections, &numbers)
}

/// Replaces the numbers of tasks by their positions.
fn resolve(sections: Vec<Section>, numbers: &BTreeMap<u64, usize>) -> Result<Vec<NewTask>, String> {
    let mut tasks = Vec::with_capacity(sections.len());
    for (own, mut section) in sections.into_iter().enumerate() {
        for after in &section.after {
            let line = section.line;
            match numbers.get(after) {
                Some(at) if *at == own => {
                    return Err(format!("line {line}: a task cannot wait for itself"));
                }
                Some(at) => section.task.dependencies.push(Dependency::Sibling(*at)),
                None => {
                    return Err(format!(
                        "line {line}: the task waits for task {after}, which is not in the plan"
                    ));
                }
            }
        }
        section.task.description = section.description.join("\n").trim().to_owned();
        tasks.push(section.task);
    }
    Ok(tasks)
}

fn field(section: &mut Section, line: &str) -> Result<(), String> {
    let Some((name, value)) = line.split_once(':') else {
        return Err(format!(
            "expected a field such as `agent: NAME`, or an empty line before the description: {line:?}"
        ));
    };
    let value = value.trim();
    let task = &mut section.task;
    match name.trim() {
        "agent" => task.agent = Some(value.to_owned()).filter(|agent| !agent.is_empty()),
        "kind" => task.kind = worker_kind(value)?,
        "priority" => task.priority = ranged(value, 0, 4)?,
        "step" => task.workflow_step = ranged(value, 1, 15)?,
        "after" => {
            let parts = value.split([',', ' ']).filter(|part| !part.is_empty());
            let parsed: Result<Vec<u64>, _> = parts.map(str::parse).collect();
            section.after = parsed.map_err(|_| format!("expected numbers of tasks: {value:?}"))?;
        }
        other => {
            return Err(format!(
                "unknown field {other:?}: expected agent, priority, step, kind or after"
            ));
        }
    }
    Ok(())
}

fn ranged(value: &str, min: u8, max: u8) -> Result<u8, String> {
    let number = value.parse().ok();
    let number = number.filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| format!("expected a number from {min} to {max}: {value:?}"))
}

/// Returns the number and the title of a task.
fn heading(line: &str) -> Option<(u64, &str)> {
    let (number, title) = line.strip_prefix("## ")?.split_once('.')?;
    Some((number.trim().parse().ok()?, title.trim()))
}

/// Returns `true` if the first character only protects a line that would be a heading.
fn is_escaped(line: &str) -> bool {
    let rest = line.trim_start_matches('\\');
    rest.len() < line.len() && heading(rest).is_some()
}

#[cfg(test)]
mod tests {
    use windlass_tasks::ProjectId;

    use super::*;

    fn task(title: &str, description: &str, after: &[usize]) -> NewTask {
        NewTask {
            description: description.to_owned(),
            dependencies: after.iter().copied().map(Dependency::Sibling).collect(),
            ..NewTask::new(ProjectId::from(1), title)
        }
    }

    #[test]
    fn plan_survives_the_editor() {
        let tasks = vec![
            task("first", "", &[]),
            NewTask {
                agent: Some("codex".to_owned()),
                priority: 0,
                workflow_step: 3,
                ..task(
                    "second",
                    "text\n\nkey: value\n## 1. not a task\n\\## 2. nor this",
                    &[0],
                )
            },
            task(&"long ".repeat(40), "agent: in the text", &[0, 1]),
        ];
        let parsed = parse_plan(&plan_text(&tasks), &NewTask::new(ProjectId::from(1), "")).unwrap();
        let mut wanted = tasks;
        wanted[2].title = wanted[2].title.trim().to_owned();
        assert_eq!(parsed, wanted);
        assert_eq!(
            parse_plan(HEADER, &NewTask::new(ProjectId::from(1), "")),
            Ok(Vec::new())
        );
        assert_eq!(
            parse_plan("\n", &NewTask::new(ProjectId::from(1), "")),
            Ok(Vec::new())
        );
    }

    #[test]
    fn control_characters_are_shown_escaped() {
        let text = plan_text(&[task("\u{1b}[31m\n## 9. x", "", &[])]);
        assert!(!text.contains('\u{1b}'), "{text}");
        let parsed = parse_plan(&text, &NewTask::new(ProjectId::from(1), "")).unwrap();
        assert_eq!(parsed.len(), 1, "{parsed:?}");
    }

    #[test]
    fn errors_name_the_line() {
        for (text, wanted) in [
            ("## 1. a\nagnet: x\n", "line 2: unknown field \"agnet\""),
            ("## 1. a\n\n## 1. b\n", "line 3: there are two tasks 1"),
            ("## 1. a\nafter: 2\n", "line 1: the task waits for task 2"),
            (
                "## 1. a\nafter: 1\n",
                "line 1: a task cannot wait for itself",
            ),
            ("## 1. \n", "line 1: task 1 has no title"),
            (
                "## 1. a\npriority: 9\n",
                "line 2: expected a number from 0 to 4",
            ),
            ("## 1. a\nkind: x\n", "line 2: unknown kind"),
            ("words\n", "line 1: expected `## NUMBER. TITLE`"),
        ] {
            let error = parse_plan(text, &NewTask::new(ProjectId::from(1), "")).unwrap_err();
            assert!(error.starts_with(wanted), "{error}");
        }
    }
}
