//! Python: pytest, with uv, poetry or pip in a virtual environment in the checkout.

mod requirements;

use super::project_dir::ProjectDir;
use super::proposal::{Argv, Detected, TestProposal, argv, quote, shell};

use requirements::{extras, is_test_group, requirements};

/// The command on a machine that has everything installed.
const INSTALLED: &str = "python3 -m pytest";
/// The command with the virtual environment that the set-up creates.
const IN_ENVIRONMENT: &str = ".venv/bin/python -m pytest";

pub(super) fn detect(dir: &ProjectDir) -> Option<Detected> {
    if !uses_pytest(dir) {
        return None;
    }
    Some(Detected {
        installed: argv(INSTALLED),
        proposal: TestProposal {
            command: argv(IN_ENVIRONMENT),
            setup: Some(setup(dir)),
            projects: Vec::new(),
        },
    })
}

/// Returns `true` if pytest is configured here, or if there are files that it would find.
fn uses_pytest(dir: &ProjectDir) -> bool {
    let contains = |name: &str, section: &str| dir.text(name).contains(section);
    dir.has("pytest.ini")
        || dir.has("conftest.py")
        || contains("pyproject.toml", "[tool.pytest")
        || contains("setup.cfg", "[tool:pytest]")
        || contains("tox.ini", "[pytest]")
        || ["", "tests", "test"]
            .iter()
            .any(|tests| dir.any_file(tests, is_test_file))
}

fn is_test_file(name: &str) -> bool {
    let is_test = name.starts_with("test_") || name.ends_with("_test.py");
    name == "conftest.py" || (is_test && name.ends_with(".py"))
}

fn setup(dir: &ProjectDir) -> Argv {
    let project = dir.toml("pyproject.toml");
    if dir.has("uv.lock") {
        return uv(dir, &project);
    }
    let is_poetry = project
        .get("tool")
        .is_some_and(|tool| tool.get("poetry").is_some());
    if dir.has("poetry.lock") || is_poetry {
        return poetry(dir);
    }
    let packages: Vec<String> = requirements(dir).iter().map(|word| quote(word)).collect();
    shell(format!(
        "python3 -m venv .venv && .venv/bin/python -m pip install --quiet {}",
        packages.join(" ")
    ))
}

/// `uv sync` installs the group `dev` automatically.
fn uv(dir: &ProjectDir, project: &toml::Table) -> Argv {
    let mut command = argv("uv sync --frozen");
    let groups = project
        .get("dependency-groups")
        .and_then(toml::Value::as_table);
    let groups = groups.into_iter().flat_map(toml::Table::keys);
    for group in groups.filter(|name| *name != "dev" && is_test_group(name)) {
        command.extend(["--group".to_owned(), group.clone()]);
    }
    for extra in extras(dir) {
        command.extend(["--extra".to_owned(), extra]);
    }
    command
}

/// Poetry installs all groups that are not optional.
fn poetry(dir: &ProjectDir) -> Argv {
    let mut command =
        argv("env POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction");
    for extra in extras(dir) {
        command.extend(["--extras".to_owned(), extra]);
    }
    command
}
