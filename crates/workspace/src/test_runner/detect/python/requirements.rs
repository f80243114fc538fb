//! What pip installs for the tests of a project.

use toml::Value;

use crate::test_runner::detect::project_dir::ProjectDir;

/// Names of extras and dependency groups for tests, the best first.
const TEST_GROUPS: &[&str] = &["test", "tests", "testing", "dev", "develop", "development"];

/// Files with the requirements of tests, by preference. One for tests is better than one for all
/// of development.
const TEST_FILES: &[&str] = &[
    "requirements-test.txt",
    "requirements-tests.txt",
    "requirements_test.txt",
    "test-requirements.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
    "requirements/testing.txt",
    "tests/requirements.txt",
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "requirements/dev.txt",
];

/// Maximum depth of groups that include groups.
const MAX_DEPTH: usize = 8;

/// Returns the arguments of `pip install`.
pub(super) fn requirements(dir: &ProjectDir) -> Vec<String> {
    let mut words = Vec::new();
    let extras = extras(dir);
    if is_package(dir) {
        let extras = extras.join(",");
        let project = if extras.is_empty() {
            ".".to_owned()
        } else {
            format!(".[{extras}]")
        };
        words.extend(["-e".to_owned(), project]);
    } else if dir.has("requirements.txt") {
        words.extend(["-r".to_owned(), "requirements.txt".to_owned()]);
    }
    if let Some(file) = dir.first(TEST_FILES) {
        words.extend(["-r".to_owned(), file.to_owned()]);
    } else if extras.is_empty() {
        let mut more = group_requirements(dir);
        if more.is_empty() {
            more = tox_requirements(&dir.text("tox.ini"));
        }
        if more.is_empty() {
            more = nox_requirements(&dir.text("noxfile.py"));
        }
        words.extend(more);
    }
    // Installing it twice is harmless, and requirements files are not read here.
    if !words.iter().any(|word| is_pytest(word)) {
        words.push("pytest".to_owned());
    }
    words
}

/// Returns the extras of the project that the tests need: the best of the known names.
pub(super) fn extras(dir: &ProjectDir) -> Vec<String> {
    let project = dir.toml("pyproject.toml");
    let table = project
        .get("project")
        .and_then(|project| project.get("optional-dependencies"))
        .or_else(|| project.get("tool")?.get("poetry")?.get("extras"));
    let declared = |name: &str| match table {
        Some(table) => table.get(name).is_some(),
        None => declares_extra(dir, name),
    };
    let best = TEST_GROUPS.iter().find(|name| declared(name));
    best.map(|name| (*name).to_owned()).into_iter().collect()
}

pub(super) fn is_test_group(name: &str) -> bool {
    TEST_GROUPS.contains(&name)
}

fn is_package(dir: &ProjectDir) -> bool {
    let project = dir.toml("pyproject.toml");
    project.contains_key("project")
        || project.contains_key("build-system")
        || dir.has("setup.py")
        || dir.text("setup.cfg").contains("[metadata]")
}

/// Searches for an extra in `setup.cfg`, and in the text of `setup.py`.
fn declares_extra(dir: &ProjectDir, name: &str) -> bool {
    let config = dir.text("setup.cfg");
    let section = config
        .split("[options.extras_require]")
        .nth(1)
        .and_then(|rest| rest.split("\n[").next())
        .unwrap_or_default();
    let in_config = section.lines().any(|line| {
        let key = line.split_once('=').map(|(key, _)| key.trim());
        !line.starts_with(' ') && key == Some(name)
    });
    let script = dir.text("setup.py");
    let table = script.split("extras_require").nth(1).unwrap_or_default();
    let in_script = [format!("\"{name}\":"), format!("'{name}':")];
    in_config || in_script.iter().any(|key| table.contains(key.as_str()))
}

/// Returns the requirements of the best dependency group.
fn group_requirements(dir: &ProjectDir) -> Vec<String> {
    let project = dir.toml("pyproject.toml");
    let Some(groups) = project.get("dependency-groups").and_then(Value::as_table) else {
        return Vec::new();
    };
    let best = TEST_GROUPS.iter().find(|name| groups.contains_key(**name));
    let mut words = Vec::new();
    if let Some(name) = best {
        expand(groups, name, 0, &mut words);
    }
    words
}

fn expand(groups: &toml::Table, name: &str, depth: usize, words: &mut Vec<String>) {
    let items = groups.get(name).and_then(Value::as_array);
    if depth > MAX_DEPTH {
        return;
    }
    for item in items.into_iter().flatten() {
        match item {
            Value::String(requirement) => words.push(requirement.clone()),
            Value::Table(table) => {
                if let Some(included) = table.get("include-group").and_then(Value::as_str) {
                    expand(groups, included, depth + 1, words);
                }
            }
            _ => {}
        }
    }
}

/// Returns the `deps` of the section `testenv`. Lines for one environment only are skipped.
fn tox_requirements(text: &str) -> Vec<String> {
    let section = text.split("[testenv]").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let mut lines = section.lines().skip_while(|line| {
        let key = line.split_once('=').map(|(key, _)| key.trim());
        key != Some("deps")
    });
    let first = lines.next().and_then(|line| line.split_once('='));
    let first = first.map(|(_, value)| value).into_iter();
    let more = lines.take_while(|line| line.starts_with([' ', '\t']));
    let mut words = Vec::new();
    for line in first.chain(more) {
        let line = line.split(" #").next().unwrap_or_default().trim();
        let is_conditional = line
            .split_once(": ")
            .is_some_and(|(condition, _)| !condition.contains(' '));
        if line.is_empty() || line.starts_with('#') || line.contains('{') || is_conditional {
            continue;
        }
        match line.strip_prefix("-r") {
            Some(file) => words.extend(["-r".to_owned(), file.trim().to_owned()]),
            None => words.push(line.to_owned()),
        }
    }
    words
}

/// Returns the texts that the first session for tests installs.
fn nox_requirements(text: &str) -> Vec<String> {
    let function = text.split("\ndef ").find(|body| body.starts_with("test"));
    let call = function.and_then(|body| body.split("session.install(").nth(1));
    let arguments = call.and_then(|rest| rest.split(')').next());
    let mut words = Vec::new();
    for word in arguments.unwrap_or_default().split(',') {
        let word = word.trim();
        let inner = word.strip_prefix(['"', '\'']);
        if let Some(inner) = inner.and_then(|inner| inner.strip_suffix(['"', '\''])) {
            words.push(inner.to_owned());
        }
    }
    let is_project = |word: &String| word == "-e" || word.starts_with('.');
    words.retain(|word| !is_project(word));
    words
}

fn is_pytest(requirement: &str) -> bool {
    let name = requirement.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
    name.into_iter().next() == Some("pytest")
}
